"""Conversations with a scripted person; importing this package registers their environments. Begin at `retail`."""

from gem.envs.dialogues import retail as retail
