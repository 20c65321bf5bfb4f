"""Many environments stepped together."""

from gem.vector.base import AutoresetMode, Flags, VectorEnv
from gem.vector.make import make_vec
from gem.vector.shards import ShardVectorEnv
from gem.vector.sync import SyncVectorEnv, ThreadVectorEnv

__all__ = ["AutoresetMode", "Flags", "ShardVectorEnv", "SyncVectorEnv", "ThreadVectorEnv", "VectorEnv", "make_vec"]
