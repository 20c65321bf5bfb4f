"""Addresses of the tree of an episode, below those of the episode."""

from django.urls import path

from apps.play.tree import views

app_name = "forks"
urlpatterns = [
    path("<slug:episode_id>/forks/", views.tree, name="tree"),
    path("<slug:episode_id>/forks/<int:number>/", views.tree, name="turn"),
    path("<slug:episode_id>/forks/new/", views.go_on, name="go_on"),
    path("<slug:episode_id>/forks/export/", views.export, name="export"),
]
