"""Addresses of endpoint agents."""

from django.urls import path

from apps.agents import checkpoints, views

app_name = "agents"
urlpatterns = [
    path("", views.list, name="list"),
    path("new/", views.new, name="new"),
    path("try/", views.trial, name="trial"),
    path("upload/", checkpoints.upload, name="upload"),
    path("upload/<slug:slug>/", checkpoints.uploaded, name="uploaded"),
    path("<slug:slug>/", views.agent, name="agent"),
    path("<slug:slug>/weights.zip", checkpoints.weights, name="weights"),
    path("<slug:slug>/edit/", views.edit, name="edit"),
    path("<slug:slug>/delete/", views.delete, name="delete"),
]
