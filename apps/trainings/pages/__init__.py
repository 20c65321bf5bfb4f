"""The contents of the pages: one training (`training`), its samples (`samples`), comparisons (`compare`), and how good
the credit of each algorithm was (`credit`)."""

from apps.trainings.pages.credit import credit_plots
from apps.trainings.pages.samples import samples, then_and_now
from apps.trainings.pages.training import (
    AXES,
    curves,
    recipe,
    seconds_left,
    seconds_left_of,
    set_up,
    shown_checkpoints,
    splits,
    training,
)

__all__ = [
    "AXES",
    "credit_plots",
    "curves",
    "recipe",
    "samples",
    "seconds_left",
    "seconds_left_of",
    "set_up",
    "shown_checkpoints",
    "splits",
    "then_and_now",
    "training",
]
