"""HTTP requests to addresses that other people chose.

`http` is the client, `addresses` decides which network addresses it may connect to, `credentials` has the tokens of
gemweb sites, and `openenv` the addresses of servers of OpenEnv.
"""
