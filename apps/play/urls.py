"""Addresses of what people start and do in episodes; the episodes themselves are under `episodes:`."""

from django.urls import path

from apps.play import duel_views, views

app_name = "play"
urlpatterns = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("watch/", views.lobby, name="lobby"),
    path("watch/new/", views.watch_new, name="watch_new"),
    path("duel/new/", duel_views.new, name="duel_new"),
    path("duel/<slug:duel_id>/", duel_views.duel, name="duel"),
    path("duel/<slug:duel_id>/add/", duel_views.add, name="duel_add"),
    path("duel/<slug:duel_id>/control/<slug:verb>/", duel_views.control, name="duel_control"),
    path("side-by-side/<slug:first_id>/<slug:second_id>/", duel_views.side_by_side, name="side_by_side"),
    path("<slug:episode_id>/turn/", views.take_turn, name="take_turn"),
    path("<slug:episode_id>/hint/", views.hint, name="hint"),
    path("<slug:episode_id>/seat/<int:number>/<str:signature>/", views.join, name="join"),
    path("<slug:episode_id>/undo/", views.undo, name="undo"),
    path("<slug:episode_id>/abandon/", views.abandon, name="abandon"),
    path("<slug:episode_id>/fork/", views.fork, name="fork"),
    path("<slug:episode_id>/finish/", views.finish, name="finish"),
    path("<slug:episode_id>/controls/", views.controls, name="controls"),
    path("<slug:episode_id>/control/<slug:verb>/", views.control, name="control"),
]
