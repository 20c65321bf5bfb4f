"""Garbage collection in processes that people wait for.

A full collection looks at everything that Django and the engine have loaded, which takes a tenth of a second and more.
What is loaded stays for good, so it is left out, and what is left is looked at less often.
"""

import gc

THRESHOLDS = (20_000, 20, 50)


def leave_out_what_is_loaded() -> None:
    """Collect once more, and leave what exists now out of later collections. Called when everything is loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
