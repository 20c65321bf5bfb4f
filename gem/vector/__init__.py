"""Vectors: many environments that are stepped together.

`base` has the interface, `sync` steps environments in this process or in threads, `shards` in several processes, and
`make` chooses between them. `mixture` is an environment that draws each episode from several others.
"""

from gem.vector.base import AutoresetMode, Flags, VectorEnv
from gem.vector.make import make_vec
from gem.vector.shards import ShardVectorEnv
from gem.vector.sync import SyncVectorEnv, ThreadVectorEnv

__all__ = ["AutoresetMode", "Flags", "ShardVectorEnv", "SyncVectorEnv", "ThreadVectorEnv", "VectorEnv", "make_vec"]
