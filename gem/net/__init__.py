"""Requests to addresses that other people chose: `http` is the guarded client, `addresses` says which may be asked."""
