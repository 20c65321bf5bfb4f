"""OpenEnv, the protocol by which trainers reach environments over WebSockets and HTTP.

`wire` reads and writes its messages, `schemas` describes an environment as a server does, `tools` answers its `/mcp`,
and `session` plays an environment of ours behind them. `apps/openenv` serves all of them. Begin reading in `wire`.
"""
