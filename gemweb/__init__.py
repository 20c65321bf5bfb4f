"""The project: its settings, addresses and processes."""

from apps.garbage import collect_rarely

collect_rarely()
