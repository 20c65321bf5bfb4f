"""Addresses of reported evaluations."""

from django.urls import path

from apps.reported import views

app_name = "reported"
urlpatterns = [
    path("", views.list, name="list"),
    path("new/", views.new, name="new"),
    path("<slug:evaluation_id>/", views.evaluation, name="evaluation"),
    path("<slug:evaluation_id>/visibility/", views.visibility, name="visibility"),
    path("<slug:evaluation_id>/delete/", views.delete, name="delete"),
    path("<slug:evaluation_id>/<int:number>/", views.episode, name="episode"),
    path("<slug:evaluation_id>/<int:number>/turns/<int:turn>/", views.turn, name="turn"),
    path("<slug:evaluation_id>/<int:number>/frames/<int:chunk>/", views.frames, name="frames"),
]
