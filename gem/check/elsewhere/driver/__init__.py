"""The part of a check that runs in the interpreter which has the environment.

That interpreter has another `gem`, or none, so this package imports the standard library alone, its own modules by
relative imports, and what is checked by name (`importlib`). It is started as the package `driver` (`main`); here it is
`gem.check.elsewhere.driver`, which the tests import to check our own environments with the same promises. It runs on
Python 3.10 and newer.

Begin reading in `promise` and `subjects`.
"""
