"""Addresses of the pages about the site itself."""

from django.urls import path

from apps.site import views

app_name = "site"
urlpatterns = [
    path("", views.home, name="home"),
    path("begin/", views.begin, name="begin"),
    path("search/", views.search, name="search"),
    path("docs/", views.docs, name="docs"),
    path("docs/images/<path:name>", views.picture, name="picture"),
    path("docs/<path:page>/", views.doc, name="doc"),
    path("health/", views.health, name="health"),
    path("health.json", views.health_json, name="health_json"),
    path("health/live", views.live, name="live"),
    path("health/ready", views.ready, name="ready"),
    path("metrics", views.metrics, name="metrics"),
]
