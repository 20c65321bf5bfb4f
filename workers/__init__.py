"""The worker processes. Celery runs `evaluate`, `train`, `uploads` and `reap`; `play` is a process of its own."""
