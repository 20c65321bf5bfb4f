"""Addresses for starting episodes and acting in them. The episodes themselves are under `episodes:`."""

from django.urls import path

from apps.play import lobby, views
from apps.play.shows import views as shows

app_name = "play"
urlpatterns = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("watch/", lobby.lobby, name="lobby"),
    path("watch/new/", shows.watch_new, name="watch_new"),
    path("<slug:episode_id>/turn/", views.take_turn, name="take_turn"),
    path("<slug:episode_id>/place/", views.place, name="place"),
    path("<slug:episode_id>/hint/", views.hint, name="hint"),
    path("<slug:episode_id>/seat/<int:number>/<str:signature>/", views.join, name="join"),
    path("<slug:episode_id>/undo/", views.undo, name="undo"),
    path("<slug:episode_id>/abandon/", views.abandon, name="abandon"),
    path("<slug:episode_id>/fork/", views.fork, name="fork"),
    path("<slug:episode_id>/finish/", views.finish, name="finish"),
    path("<slug:episode_id>/controls/", shows.controls, name="controls"),
    path("<slug:episode_id>/control/<slug:verb>/", shows.control, name="control"),
]
