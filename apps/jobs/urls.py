"""Addresses of jobs."""

from django.urls import path, register_converter

from apps.episodes.models import ALPHABET, ID_LENGTH
from apps.jobs import views
from apps.jobs.training import logs
from apps.jobs.training import views as training


class JobId:
    """An id as `make_id` makes them; anything else is no address."""

    regex = f"[{ALPHABET}]{{{ID_LENGTH}}}"

    def to_python(self, value: str) -> str:
        """The id as text."""
        return value

    def to_url(self, value: str) -> str:
        """The id as text."""
        return value


register_converter(JobId, "job_id")

app_name = "jobs"
urlpatterns = [
    path("", views.list, name="list"),
    path("recent/", views.recent, name="recent"),
    path("new/", views.submit, name="submit"),
    path("new/estimate/", views.estimate, name="estimate"),
    path("train/", training.train, name="train"),
    path("compare/", training.compare, name="compare"),
    path("of/<slug:episode_id>/", views.of_episode, name="of_episode"),
    path("<job_id:job_id>/", views.job, name="job"),
    path("<job_id:job_id>/curves.json", training.curves, name="curves"),
    path("<job_id:job_id>/updates/<int:number>/", training.update, name="update"),
    path("<job_id:job_id>/checkpoints/<int:number>.zip", training.checkpoint, name="checkpoint"),
    path("<job_id:job_id>/log.txt", logs.whole, name="log"),
    path("<job_id:job_id>/log/", logs.tail, name="log_tail"),
    path("<job_id:job_id>/change/", training.change, name="change"),
    path("<job_id:job_id>/episodes/", views.episodes, name="episodes"),
    path("<job_id:job_id>/spec.json", views.spec, name="spec"),
    path("<job_id:job_id>/cancel/", views.cancel, name="cancel"),
    path("<job_id:job_id>/resubmit/", views.resubmit, name="resubmit"),
]
