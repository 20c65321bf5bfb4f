"""Addresses of other tools' protocols."""

from django.urls import path

from apps.doors import prime, trackio

app_name = "doors"
PRIME = "prime/api/v1/"
urlpatterns = [
    path("trackio/<str:username>/version", trackio.version, name="trackio_version"),
    path("trackio/<str:username>/api/<str:name>", trackio.call, name="trackio_call"),
    path(f"{PRIME}environmentshub/resolve", prime.resolve, name="prime_resolve"),
    path(f"{PRIME}environmentshub/<str:owner>/<str:name>/@latest", prime.published, name="prime_published"),
    path(f"{PRIME}evaluations/", prime.evaluations, name="prime_evaluations"),
    path(f"{PRIME}evaluations/<slug:evaluation_id>", prime.evaluation, name="prime_evaluation"),
    path(f"{PRIME}evaluations/<slug:evaluation_id>/samples", prime.samples, name="prime_samples"),
    path(f"{PRIME}evaluations/<slug:evaluation_id>/finalize", prime.finalize, name="prime_finalize"),
]
