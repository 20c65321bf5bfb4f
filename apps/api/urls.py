"""Addresses of the pages about the API. The API itself is `root.api`."""

from django.urls import path

from apps.api import views

app_name = "programs"
urlpatterns = [
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<int:token_id>/revoke/", views.revoke, name="revoke"),
    path("docs/rest/", views.rest, name="rest"),
]
