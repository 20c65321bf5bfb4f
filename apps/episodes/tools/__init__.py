"""Tools in episodes: `choice` is the part of a form that adds tools, `calls` shows the tool calls of a turn."""
