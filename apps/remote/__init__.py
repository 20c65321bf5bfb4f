"""Agents that run on the machines of their owners and connect out: nobody has to open a port for them.

A worker asks such an agent by writing a `Question` and waits for the answer (`asking`). The web process that has the
connection sends the question on and stores what comes back (`answering`); `apps.connect` has the connections, the pages
and the tokens. Everything stands in Postgres, so either side may be killed and go on. Begin reading in `models`.
"""
