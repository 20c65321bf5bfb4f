"""What every page's template knows."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, Any]:
    """The version and whether this is a stack on somebody's own machine."""
    return {"version": settings.VERSION, "local_mode": settings.LOCAL_MODE}
