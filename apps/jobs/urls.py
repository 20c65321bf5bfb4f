"""Addresses."""

from django.urls import URLPattern

app_name = "jobs"
urlpatterns: list[URLPattern] = []
