"""The commands that work on a server over its REST API: `connection` is how they reach it, the others are commands."""
