"""What proves the rows of the leaderboard: re-executions of their episodes, and signed certificates.

Begin with `checks`, which executes the episodes of a row again; `certificates` says what is signed, and `keys` signs.
"""
