"""Wrappers: environments around another one, which change its observations, actions, rewards or limits.

`wrapper_factory` has all of them by name, and `wrap` puts them around an environment. docs/training-sets.md lists them.
"""

from gem.wrappers.compact_observation import CompactObservation
from gem.wrappers.describe import describe
from gem.wrappers.episode_tracking_wrapper import EpisodeTrackingWrapper
from gem.wrappers.normalize_action import NormalizeAction
from gem.wrappers.observation_wrapper import ObservationWrapper
from gem.wrappers.opponent import Opponent
from gem.wrappers.record_episodes import RecordEpisodes
from gem.wrappers.rewards import ClipReward, RewardSuccess, ScaleReward
from gem.wrappers.time_limit import TimeLimit
from gem.wrappers.wrapper_factory import TOKENIZER_REQUIRED, WRAPPER_FACTORY, get_wrapper_fns, wrap

__all__ = [
    "TOKENIZER_REQUIRED",
    "WRAPPER_FACTORY",
    "ClipReward",
    "CompactObservation",
    "EpisodeTrackingWrapper",
    "NormalizeAction",
    "ObservationWrapper",
    "Opponent",
    "RecordEpisodes",
    "RewardSuccess",
    "ScaleReward",
    "TimeLimit",
    "describe",
    "get_wrapper_fns",
    "wrap",
]
