"""A tiny package with the interface of GEM: one environment that keeps its promises, and others that break one each.

It is copied to a folder as `gem`, and runs in processes of its own. It is not part of the engine.
"""

from .envs.registration import make, register  # noqa: F401
