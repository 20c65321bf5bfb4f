"""Addresses of jobs."""

from django.urls import path

from apps.jobs import views

app_name = "jobs"
urlpatterns = [
    path("", views.list, name="list"),
    path("recent/", views.recent, name="recent"),
    path("new/", views.submit, name="submit"),
    path("new/estimate/", views.estimate, name="estimate"),
    path("<str:job_id>/", views.job, name="job"),
    path("<str:job_id>/episodes/", views.episodes, name="episodes"),
    path("<str:job_id>/spec.json", views.spec, name="spec"),
    path("<str:job_id>/cancel/", views.cancel, name="cancel"),
    path("<str:job_id>/resubmit/", views.resubmit, name="resubmit"),
]
