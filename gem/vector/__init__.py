"""Many environments stepped together."""

from gem.vector.make import make_vec
from gem.vector.sync import AutoresetMode, SyncVectorEnv

__all__ = ["AutoresetMode", "SyncVectorEnv", "make_vec"]
