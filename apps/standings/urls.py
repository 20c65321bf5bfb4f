"""Addresses of the duel board and of people's rows."""

from django.urls import path

from apps.standings import views

app_name = "standings"
urlpatterns = [
    path("duels/", views.duels, name="duels"),
    path("duels/next/", views.play_next, name="play_next"),
    path("people/", views.people_rows, name="people"),
    path("own/", views.own, name="own"),
]
