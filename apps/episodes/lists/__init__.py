"""Lists of episodes: filters, pages, fragments for other apps, and counts."""
