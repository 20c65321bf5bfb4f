"""Addresses of jobs."""

from django.urls import path, register_converter

from apps.episodes.models import ALPHABET, ID_LENGTH
from apps.jobs import views
from apps.jobs.afterwards import views as afterwards
from apps.jobs.analysis import views as analysis
from apps.jobs.controls import views as control_views
from apps.jobs.form import views as form


class JobId:
    """An id as `make_id` creates it."""

    regex = f"[{ALPHABET}]{{{ID_LENGTH}}}"

    def to_python(self, value: str) -> str:
        """The id itself."""
        return value

    def to_url(self, value: str) -> str:
        """The id itself."""
        return value


register_converter(JobId, "job_id")

JOB = "<job_id:job_id>/"
"""The prefix of all addresses of one job, of every kind."""

app_name = "jobs"
urlpatterns = [
    path("", views.list, name="list"),
    path("recent/", views.recent, name="recent"),
    path("new/", form.submit, name="submit"),
    path("new/change/", form.change, name="change"),
    path("new/paste/", form.paste, name="paste"),
    path("new/estimate/", form.estimate, name="estimate"),
    path("of/<slug:episode_id>/", views.of_episode, name="of_episode"),
    path(JOB, views.job, name="job"),
    path(f"{JOB}episodes/", views.episodes, name="episodes"),
    path(f"{JOB}spec.json", views.spec, name="spec"),
    path(f"{JOB}visibility/", views.visibility, name="visibility"),
    path(f"{JOB}cancel/", views.cancel, name="cancel"),
    path(f"{JOB}resume/", views.resume, name="resume"),
    path(f"{JOB}control/", control_views.control, name="control"),
    path(f"{JOB}controls/", control_views.panel, name="controls"),
    path(f"{JOB}under-way/", control_views.under_way, name="under_way"),
    path(f"{JOB}seats/<int:slot>/", control_views.seat, name="seat"),
    path(f"{JOB}seats/<int:slot>/take/", control_views.take_seat, name="take_seat"),
    path(f"{JOB}progress/", control_views.progress, name="progress"),
    path(f"{JOB}lines/", control_views.log, name="log"),
    path(f"{JOB}lines.txt", control_views.log_text, name="log_text"),
    path(f"{JOB}resubmit/", views.resubmit, name="resubmit"),
    path(f"{JOB}results/", analysis.results, name="results"),
    path(f"{JOB}export/<slug:table>.<slug:form>", afterwards.export, name="export"),
    path(f"{JOB}describe/", afterwards.describe, name="describe"),
    path(f"{JOB}archive/", afterwards.archive, name="archive"),
    path(f"{JOB}delete/", afterwards.delete, name="delete"),
]
