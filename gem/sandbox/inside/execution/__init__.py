"""Executing untrusted programs: `program` runs one, `cases` and `dialogue` run it under tests."""
