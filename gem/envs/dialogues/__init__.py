"""Conversations with a scripted person, one package or file each; importing it registers its environments."""

from gem.envs.dialogues import retail as retail
