"""The addresses of the page that compares evaluations."""

from django.urls import path

from apps.jobs.comparisons import views

app_name = "comparisons"
urlpatterns = [
    path("", views.compare, name="compare"),
    path("export/", views.export, name="export"),
]
