"""Measurements of a training: `evaluation` measures a policy on held-out seeds, `alarms` and `noise` read its metrics,
and `curves` draws learning curves. Comparisons of trainings are in `gem.studies`."""
