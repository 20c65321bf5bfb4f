"""Addresses of the catalog."""

from django.urls import path

from apps.catalog import views

app_name = "catalog"
urlpatterns = [
    path("", views.list_environments, name="list"),
    path("<str:env_id>/picture/", views.picture, name="picture"),
    path("<str:env_id>/first-turn/", views.first_turn, name="first_turn"),
    path("<str:env_id>/", views.environment, name="environment"),
]
