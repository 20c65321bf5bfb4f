"""Executes untrusted programs: `program` runs a script; `cases` and `dialogue` run a program under tests."""
