"""Addresses of studies: those that come with gemweb by their names, those that people started by their ids."""

from django.urls import path

from apps.studies import views

app_name = "studies"
STARTED = "started/<slug:study_id>/"
urlpatterns = [
    path("", views.list, name="list"),
    path("new/", views.new, name="new"),
    path("estimate/", views.estimate, name="estimate"),
    path("curves/", views.curves, name="curves"),
    path("curves/<slug:name>/", views.recipe, name="recipe"),
    path(STARTED, views.started, name="started"),
    path(f"{STARTED}figures/", views.figures, name="figures"),
    path(f"{STARTED}runs/<int:number>/", views.run, name="run"),
    path(f"{STARTED}results.zip", views.results, name="results"),
    path(f"{STARTED}change/", views.change, name="change"),
    path(f"{STARTED}visibility/", views.visibility, name="visibility"),
    path(f"{STARTED}delete/", views.delete, name="delete"),
    path("<slug:name>/", views.recorded, name="recorded"),
    path("<slug:name>/results.zip", views.recorded_results, name="recorded_results"),
]
