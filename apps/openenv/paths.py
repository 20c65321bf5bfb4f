"""Where the servers of OpenEnv are; known before Django is."""

ROOT = "/openenv/"
