"""Home, search, the documentation, health and the error pages."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string


def home(request: HttpRequest) -> HttpResponse:
    """What this is, and something to do at once."""
    return render(request, "home.html")


def search(request: HttpRequest) -> HttpResponse:
    """Environments, agents, episodes and jobs by name or id."""
    return render(request, "home.html")


def docs(request: HttpRequest) -> HttpResponse:
    """The list of documents."""
    return render(request, "home.html")


def doc(request: HttpRequest, page: str) -> HttpResponse:
    """One document."""
    return render(request, "home.html")


def health(request: HttpRequest) -> HttpResponse:
    """Whether every part works."""
    return render(request, "home.html")


def health_json(request: HttpRequest) -> HttpResponse:
    """The same for machines."""
    return JsonResponse({})


# ---------------------------------------------------------------- errors


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The request could not be read."""
    return render(request, "400.html", status=400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Not for this person."""
    return render(request, "403.html", status=403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Nothing at this address."""
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """A fault of ours; drawn without the database, the session or the context processors."""
    return HttpResponse(render_to_string("500.html"), status=500)
