"""Addresses of episodes: the permalink, the turns, and downloads."""

from django.urls import path

from apps.episodes import views
from apps.episodes.lists import fragments
from apps.episodes.replays import downloads, sharing
from apps.episodes.replays import views as replays

app_name = "episodes"
urlpatterns = [
    path("", views.list_episodes, name="list"),
    path("fragments/example/", fragments.example, name="example"),
    path("fragments/recent/", fragments.recent, name="recent"),
    path("<slug:episode_id>/", replays.episode, name="episode"),
    path("<slug:episode_id>/turns/<int:number>/", replays.turn, name="turn"),
    path("<slug:episode_id>/turns/<int:number>/raw.json", downloads.turn_json, name="turn_json"),
    path("<slug:episode_id>/frames/<int:chunk>/", replays.frames, name="frames"),
    path("<slug:episode_id>/episode.json", downloads.episode_json, name="json"),
    path("<slug:episode_id>/episode.jsonl", downloads.episode_jsonl, name="jsonl"),
    path("<slug:episode_id>/verify/", replays.verify, name="verify"),
    path("<slug:episode_id>/verdict/", replays.verdict, name="verdict"),
    path("<slug:episode_id>/why/", replays.why, name="why"),
    path("<slug:episode_id>/ask-expert/", replays.ask_expert, name="ask_expert"),
    path("<slug:episode_id>/embed/", sharing.embed, name="embed"),
    path("<slug:episode_id>/replay.html", sharing.replay_file, name="replay_file"),
    path("<slug:episode_id>/visibility/", views.visibility, name="visibility"),
]
