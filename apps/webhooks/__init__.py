"""Webhooks: the events of a person's jobs, sent to addresses of theirs. Begin with `operations`, then `collecting`
(which events are owed) and `sending` (how they get there)."""
