"""Addresses of duels, and of any two episodes side by side."""

from django.urls import path

from apps.duels import views

app_name = "duels"
urlpatterns = [
    path("duel/new/", views.new, name="new"),
    path("duel/<slug:duel_id>/", views.duel, name="duel"),
    path("duel/<slug:duel_id>/add/", views.add, name="add"),
    path("duel/<slug:duel_id>/control/<slug:verb>/", views.control, name="control"),
    path("duel/<slug:duel_id>/visibility/", views.visibility, name="visibility"),
    path("side-by-side/<slug:first_id>/<slug:second_id>/", views.side_by_side, name="side_by_side"),
]
