"""Every number that the project claims, as a command that prints it."""
