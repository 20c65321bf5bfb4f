"""The embedded stack behind `make up`: Postgres, Valkey, web and workers under one supervisor.

Read in this order: `config` (what the user asked for), `state` (where data lives), `guard` and `process`
(nothing outlives the supervisor), `postgres` and `valkey` (which server, and how it is started), `services`
(what runs), `supervisor` (keeps it running), `stack` (the order of things), `__main__` (the command).
"""
