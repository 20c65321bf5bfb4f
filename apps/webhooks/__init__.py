"""Webhooks: the events of a person's jobs, live episodes and duels, sent to addresses of theirs. Begin with
`operations`, then `sources` and `collecting` (which events are owed) and `sending` (how they get there)."""
