"""The commands that work on a server over its REST API: `connection` is how they reach it, `progress`
shows how far they are, and the others are commands."""
