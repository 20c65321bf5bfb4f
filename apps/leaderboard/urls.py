"""Addresses of the leaderboard."""

from django.urls import path

from apps.leaderboard import season_views, views
from apps.leaderboard.boards import sharing
from apps.leaderboard.boards import views as boards
from apps.leaderboard.challenges import views as challenges
from apps.leaderboard.proofs import views as proofs

app_name = "leaderboard"
urlpatterns = [
    path("", boards.benchmark, name="benchmark"),
    path("about/", boards.rules, name="about"),
    path("scores.csv", sharing.scores, name="scores"),
    path("scores.tex", sharing.table, name="table"),
    path("embed/", sharing.embed, name="embed"),
    path("citation.cff", sharing.cite, name="citation"),
    path("first.atom", sharing.first, name="first"),
    path("log/", boards.log, name="log"),
    path("top/", boards.top, name="top"),
    path("agents/", boards.agents, name="agents"),
    path("play/", views.play, name="play"),
    path("yours/", views.yours, name="yours"),
    path("seed/<slug:episode_id>/", views.seed, name="seed"),
    path("seasons/", season_views.seasons, name="seasons"),
    path("challenges/", challenges.challenges, name="challenges"),
    path("challenges/new/", challenges.challenge_new, name="challenge_new"),
    path("challenges/push/", challenges.push, name="push"),
    path("challenges/<slug:challenge_id>/", challenges.challenge, name="challenge"),
    path("challenges/<slug:challenge_id>/challenge.json", challenges.challenge_file, name="challenge_file"),
    path("elsewhere/", challenges.elsewhere, name="elsewhere"),
    path("reported/new/", challenges.report_new, name="report_new"),
    path("reported/<slug:row_id>/", challenges.reported, name="reported"),
    path("reported/<slug:row_id>/delete/", challenges.reported_delete, name="reported_delete"),
    path("row/<int:score_id>/", views.row, name="row"),
    path("row/<int:score_id>/mark/", boards.mark, name="mark"),
    path("row/<int:score_id>/badge.svg", sharing.badge, name="badge"),
    path("row/<int:score_id>/certificate.json", proofs.certificate, name="certificate"),
    path("row/<int:score_id>/digests.json", proofs.digests, name="digests"),
    path("row/<int:score_id>/episodes.jsonl", proofs.row_episodes, name="row_episodes"),
]
