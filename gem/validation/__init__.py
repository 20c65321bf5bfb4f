"""Whether what somebody passes can be used, and sentences that say why it cannot.

`arguments` checks keyword arguments, `messages` words what Pydantic refuses, `near` names the nearest known word, and
`dependencies` finds packages that are missing.
"""
