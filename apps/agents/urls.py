"""Addresses of agents."""

from django.urls import path

from apps.agents import checkpoint_views, views

app_name = "agents"
urlpatterns = [
    path("", views.list, name="list"),
    path("new/", views.new, name="new"),
    path("try/", views.trial, name="trial"),
    path("upload/", checkpoint_views.upload, name="upload"),
    path("upload/<slug:slug>/", checkpoint_views.uploaded, name="uploaded"),
    path("<slug:slug>/", views.agent, name="agent"),
    path("<slug:slug>/weights.zip", checkpoint_views.weights, name="weights"),
    path("<slug:slug>/edit/", views.edit, name="edit"),
    path("<slug:slug>/visibility/", views.visibility, name="visibility"),
    path("<slug:slug>/facts/", views.facts, name="facts"),
    path("<slug:slug>/delete/", views.delete, name="delete"),
]
