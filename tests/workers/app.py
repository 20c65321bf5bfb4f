"""The Celery application as workers of these tests run it: with the environments that only they know."""

from gemweb.celery import app
from tests.workers import environments

environments.add()

__all__ = ["app"]
