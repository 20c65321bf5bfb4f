"""HTTP requests to addresses that other people chose.

`http` is the client, `addresses` decides which network addresses it may connect to, and `credentials` has the tokens of
gemweb sites.
"""
