"""Wrappers: an environment around another one, by name in `wrapper_factory`."""

from gem.wrappers.episode_tracking_wrapper import EpisodeTrackingWrapper
from gem.wrappers.observation_wrapper import ObservationWrapper
from gem.wrappers.opponent import Opponent
from gem.wrappers.time_limit import TimeLimit
from gem.wrappers.wrapper_factory import WRAPPER_FACTORY, get_wrapper_fns, wrap

__all__ = [
    "WRAPPER_FACTORY",
    "EpisodeTrackingWrapper",
    "ObservationWrapper",
    "Opponent",
    "TimeLimit",
    "get_wrapper_fns",
    "wrap",
]
