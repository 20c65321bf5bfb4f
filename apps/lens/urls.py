"""Addresses of the credit lens, below those of the episode."""

from django.urls import path

from apps.lens import views

app_name = "lens"
urlpatterns = [
    path("<slug:episode_id>/credit/", views.credit, name="credit"),
    path("<slug:episode_id>/credit/<int:number>/", views.credit, name="turn"),
    path("<slug:episode_id>/credit.json", views.credit_json, name="json"),
    path("<slug:episode_id>/credit.csv", views.credit_csv, name="csv"),
    path("<slug:episode_id>/same-seed/", views.same_seed, name="same_seed"),
    path("<slug:episode_id>/truth/", views.measure, name="measure"),
    path("<slug:episode_id>/truth/<slug:key>/stop/", views.stop, name="stop"),
]
