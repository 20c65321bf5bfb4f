"""Addresses of the pages about connections."""

from django.urls import path

from apps.connect import views

app_name = "connect"
urlpatterns = [
    path("connect/", views.new, name="new"),
    path("connect/asked/<slug:episode_id>/", views.asked, name="asked"),
    path("<slug:slug>/connect/", views.agent, name="agent"),
    path("<slug:slug>/connect/strip/", views.strip, name="strip"),
    path("<slug:slug>/connect/token/", views.token, name="token"),
    path("<slug:slug>/connect/seats/", views.seats, name="seats"),
    path("<slug:slug>/connect/chat/", views.chat, name="chat"),
]
