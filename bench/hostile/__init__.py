"""Attacks on a running site, each beside an honest visitor: `python -m bench.hostile`.

`attacks` is the list of attacks, `client` a visitor with an address and a session, `honest` what the honest visitor
measures. Begin with `__main__`.
"""
