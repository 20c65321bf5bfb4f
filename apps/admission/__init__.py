"""Admission control: who is served next, of all that waits for a worker. Begin with `line.py`.

Turns in slow environments, live episodes, verifications, trials of uploads, evaluations and trainings wait in lines. In
each of them people are served in turn (round-robin), however much each of them has asked for.
"""
