"""Tools in episodes: `choice` is the part of a form that adds them, `calls` what a page shows of a turn's calls."""
