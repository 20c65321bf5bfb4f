"""The processes that work. Celery runs `evaluate`, `train`, `uploads` and `reap`; `play` runs by itself."""
