"""Shows: live episodes that agents play while people watch.

People start and control them with `operations`; hosts lease and play them with `show_leases`.
"""
