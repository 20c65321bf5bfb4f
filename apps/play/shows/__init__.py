"""Shows: live episodes that agents play while people watch.

People start and steer them by `operations`; the hosts that play them lease them by `show_leases`.
"""
