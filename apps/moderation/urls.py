"""Addresses of reports."""

from django.urls import path

from apps.moderation import views

app_name = "moderation"
urlpatterns = [
    path("", views.reports, name="reports"),
    path("report/<slug:kind>/<slug:key>/", views.report, name="report"),
    path("decide/<slug:kind>/<slug:key>/", views.decide, name="decide"),
]
