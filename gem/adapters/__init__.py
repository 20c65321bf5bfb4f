"""The environments behind the interfaces of other libraries.

`gymnasium` and `pettingzoo` need the library of that name. `tokens` turns episodes into tokens for trainers.
"""
