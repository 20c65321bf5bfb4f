"""Addresses of the leaderboard."""

from django.urls import path

from apps.leaderboard import season_views, views
from apps.leaderboard.proofs import views as proofs

app_name = "leaderboard"
urlpatterns = [
    path("", views.benchmark, name="benchmark"),
    path("scores.csv", views.scores, name="scores"),
    path("top/", views.top, name="top"),
    path("agents/", views.agents, name="agents"),
    path("play/", views.play, name="play"),
    path("yours/", views.yours, name="yours"),
    path("seed/<slug:episode_id>/", views.seed, name="seed"),
    path("seasons/", season_views.seasons, name="seasons"),
    path("row/<int:score_id>/", views.row, name="row"),
    path("row/<int:score_id>/certificate.json", proofs.certificate, name="certificate"),
    path("row/<int:score_id>/digests.json", proofs.digests, name="digests"),
    path("row/<int:score_id>/episodes.jsonl", proofs.row_episodes, name="row_episodes"),
]
