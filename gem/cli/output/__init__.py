"""The output of commands: tables, reports of evaluations, and the screen of an episode."""
