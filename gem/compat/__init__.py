"""Everything that exists for environments and scripts written for GEM.

`aliases` makes GEM's import paths work, `adapter` keeps an environment with GEM's interface to the contract of
`gem.core`, and `games` has GEM's classes of games with their arguments. Begin reading in `aliases`.
"""
