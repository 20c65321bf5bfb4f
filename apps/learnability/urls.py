"""Addresses of probes, below those of the environments."""

from django.urls import path

from apps.learnability import views

app_name = "learnability"
urlpatterns = [
    path("learnable/", views.probe, name="probe"),
    path("learnable/ask/", views.ask, name="ask"),
]
