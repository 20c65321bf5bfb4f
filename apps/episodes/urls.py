"""Addresses of episodes: the permalink, every turn of it, and its data."""

from django.urls import path

from apps.episodes import fragments, views

app_name = "episodes"
urlpatterns = [
    path("", views.list_episodes, name="list"),
    path("fragments/example/", fragments.example, name="example"),
    path("fragments/recent/", fragments.recent, name="recent"),
    path("<slug:episode_id>/", views.episode, name="episode"),
    path("<slug:episode_id>/turns/<int:number>/", views.turn, name="turn"),
    path("<slug:episode_id>/turns/<int:number>/raw.json", views.turn_json, name="turn_json"),
    path("<slug:episode_id>/frames/<int:chunk>/", views.frames, name="frames"),
    path("<slug:episode_id>/episode.json", views.episode_json, name="json"),
    path("<slug:episode_id>/episode.jsonl", views.episode_jsonl, name="jsonl"),
    path("<slug:episode_id>/verify/", views.verify, name="verify"),
]
