"""Accounts, and visitors without an account. Begin with `operations`, then read `visitors`."""
