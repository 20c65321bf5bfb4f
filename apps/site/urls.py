"""Addresses."""

from django.urls import URLPattern

app_name = "site"
urlpatterns: list[URLPattern] = []
