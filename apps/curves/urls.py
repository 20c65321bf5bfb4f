"""Addresses of trainings elsewhere."""

from django.urls import path

from apps.curves import views

app_name = "curves"
urlpatterns = [
    path("", views.list, name="list"),
    path("<slug:training_id>/", views.training, name="training"),
    path("<slug:training_id>/curves.json", views.points, name="points"),
    path("<slug:training_id>/steps/<int:number>/", views.step, name="step"),
    path("<slug:training_id>/visibility/", views.visibility, name="visibility"),
    path("<slug:training_id>/roles/", views.roles, name="roles"),
    path("<slug:training_id>/delete/", views.delete, name="delete"),
]
