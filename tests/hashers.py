"""Passwords hashed quickly in the process of the tests."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class Quick(PBKDF2PasswordHasher):
    """Hashes once instead of a million times; a site that runs as it does for people can read the result."""

    iterations = 1
