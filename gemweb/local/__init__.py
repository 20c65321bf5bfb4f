"""The embedded stack behind `make up`: Postgres, Valkey, web and workers under one supervisor.

Read in this order: `config` (the settings of the user), `state` (the folder for data), `guard` and `process`
(no process outlives the supervisor), `servers` (how Postgres and Valkey are found and started), `services`
(the other processes), `supervisor` (restarts them), `stack` (the order of the start), `__main__` (the command).
"""
