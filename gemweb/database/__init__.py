"""Django's database backend for Postgres, with the limit of a transaction. Begin with `base.py`."""
