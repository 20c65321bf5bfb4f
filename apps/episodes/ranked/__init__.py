"""Episodes on the seeds of a season: closed while it runs, and comparable to ranked ones."""
