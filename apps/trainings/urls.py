"""Addresses of trainings; the page of one is that of its job, under `jobs:`."""

from django.urls import path

from apps.jobs.urls import JOB
from apps.trainings import logs, views

app_name = "trainings"
urlpatterns = [
    path("train/", views.train, name="train"),
    path("train/learned/", views.learned_here, name="learned_here"),
    path("train/credit/", views.credit, name="credit"),
    path("compare/", views.compare, name="compare"),
    path(f"{JOB}curves.json", views.curves, name="curves"),
    path(f"{JOB}updates/<int:number>/", views.update, name="update"),
    path(f"{JOB}checkpoints/<int:number>.zip", views.checkpoint, name="checkpoint"),
    path(f"{JOB}log.txt", logs.log, name="log"),
    path(f"{JOB}log/", logs.log_tail, name="log_tail"),
    path(f"{JOB}change/", views.change, name="change"),
]
