"""The app of other tools' protocols."""

from django.apps import AppConfig


class DoorsConfig(AppConfig):
    """Has addresses alone: what it stores belongs to the apps below."""

    name = "apps.doors"
