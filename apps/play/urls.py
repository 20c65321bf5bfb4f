"""Addresses for starting episodes and acting in them. The episodes themselves are under `episodes:`."""

from django.urls import path

from apps.play import lobby, views
from apps.play.bench import views as bench
from apps.play.people import views as people
from apps.play.shows import seat_views as seats
from apps.play.shows import television
from apps.play.shows import views as shows

app_name = "play"
urlpatterns = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("mine/", people.mine, name="mine"),
    path("name/", people.name, name="name"),
    path("watch/", lobby.lobby, name="lobby"),
    path("watch/tv/", television.tv, name="tv"),
    path("watch/new/", shows.watch_new, name="watch_new"),
    path("<slug:episode_id>/turn/", views.take_turn, name="take_turn"),
    path("<slug:episode_id>/place/", views.place, name="place"),
    path("<slug:episode_id>/try/", bench.try_out, name="try_out"),
    path("<slug:episode_id>/trial/", bench.trial, name="trial"),
    path("<slug:episode_id>/actions/", bench.actions, name="actions"),
    path("<slug:episode_id>/waiting/", people.still_here, name="still_here"),
    path("<slug:episode_id>/rematch/", people.rematch, name="rematch"),
    path("<slug:episode_id>/hint/", views.hint, name="hint"),
    path("<slug:episode_id>/seat/<int:number>/<str:signature>/", views.join, name="join"),
    path("<slug:episode_id>/undo/", views.undo, name="undo"),
    path("<slug:episode_id>/abandon/", views.abandon, name="abandon"),
    path("<slug:episode_id>/fork/", views.fork, name="fork"),
    path("<slug:episode_id>/finish/", views.finish, name="finish"),
    path("<slug:episode_id>/take-seat/", seats.take_seat, name="take_seat"),
    path("<slug:episode_id>/note/", seats.leave_note, name="leave_note"),
    path("<slug:episode_id>/hand-back/", seats.hand_back, name="hand_back"),
    path("<slug:episode_id>/control/<slug:verb>/", shows.control, name="control"),
]
