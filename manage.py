#!/usr/bin/env python
"""Django's command line."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")
    os.environ.setdefault("TRANSACTION_SECONDS", "0")  # a migration may take hours
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"gemweb: {error}")
