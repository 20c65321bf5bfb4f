"""The two servers: our own Postgres and Valkey, or those of others in DATABASE_URL and VALKEY_URL.

`postgres` and `valkey` find and start our own, `external` checks others, and `reach` is for commands outside the stack.
"""
