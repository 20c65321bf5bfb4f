"""Statistics of a leaderboard: scores of a benchmark and the ranks they leave open, duels, and fronts.

Begin with `board`. `bradley_terry` ranks agents that played against each other, and `pareto` weighs scores against
costs. Everything is computed with the standard library, because the engine needs no other package.
"""
