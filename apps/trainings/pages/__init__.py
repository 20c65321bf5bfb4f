"""The contents of the pages: one training (`training`), its samples (`samples`), and comparisons (`compare`);
what recipes (`learned`) and studies (`studies`) showed here."""

from apps.trainings.pages.credit import credit_plots
from apps.trainings.pages.learned import learned
from apps.trainings.pages.samples import samples, then_and_now
from apps.trainings.pages.studies import studies, study
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
    "learned",
    "recipe",
    "samples",
    "seconds_left",
    "seconds_left_of",
    "set_up",
    "shown_checkpoints",
    "splits",
    "studies",
    "study",
    "then_and_now",
    "training",
]
