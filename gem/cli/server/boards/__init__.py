"""Commands about the boards of a server: rankings, the daily seed, and results that were played elsewhere."""
