"""Validation of what callers and users pass, with error messages in sentences.

`arguments` checks the names of keyword arguments, `messages` turns Pydantic's errors into sentences, `near` suggests
the nearest known name, `whole` has the type of whole numbers in models, and `dependencies` finds missing packages and
imports the modules of users.
"""
