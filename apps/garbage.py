"""Garbage collection in the processes of the site, which people wait for.

A full collection looks at everything that Django and the engine have loaded, which takes a tenth of a second and more.
What is loaded stays for good, so it is left out, and what is left is looked at less often. A collection of the middle
generation looks at what up to three of the youngest one have left; with twenty, it took 70 ms and more.
"""

import gc

THRESHOLDS = (10_000, 3, 500)


def collect_rarely() -> None:
    """Collect garbage less often. With Python's thresholds, a fifth of the start of a process goes into collections."""
    gc.set_threshold(*THRESHOLDS)


def leave_out_what_is_loaded() -> None:
    """Collect once more, and leave what exists now out of later collections. Called when everything is loaded."""
    gc.collect()
    gc.freeze()
    collect_rarely()
