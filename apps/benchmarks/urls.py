"""Addresses of the benchmarks of people."""

from django.urls import path

from apps.benchmarks import views

app_name = "benchmarks"
urlpatterns = [
    path("", views.list, name="list"),
    path("new/", views.new, name="new"),
    path("<str:name>/", views.benchmark, name="benchmark"),
    path("<str:name>/benchmark.json", views.file, name="file"),
    path("<str:name>/visibility/", views.visibility, name="visibility"),
    path("<str:name>/delete/", views.delete, name="delete"),
]
