"""A shell in a sandbox; importing it registers its environments."""

from gem.envs.terminal import terminal as terminal
