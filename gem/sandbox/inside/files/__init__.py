"""Files that untrusted programs left: `tree` reads and writes small ones, the others measure and remove."""
