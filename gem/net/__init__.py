"""HTTP requests to addresses that other people chose.

`http` is the client, and `addresses` decides which network addresses it may connect to.
"""
