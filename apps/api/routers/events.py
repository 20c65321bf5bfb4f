"""The events of episodes, duels, jobs and trainings as streams (Server-Sent Events; over WebSocket: `apps.live`)."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Router

from apps.accounts import visitors
from apps.api.callers import token_of
from apps.api.document.openapi import event_stream
from apps.api.problems import Invalid, problem
from apps.live.consumers import place_of
from apps.live.feed import BEGINNING
from apps.live.positions import NO_POSITION, never_reached, position
from apps.live.server_sent import Subscription, subscribe
from apps.live.session_user import TOKEN, SessionUser
from apps.live.streams import STREAMS
from apps.live.topics import TOPICS

router = Router(tags=["events"])
HEADER = "Last-Event-ID"
TOO_MANY = (
    "You have reached your limit of open streams and pages. Nothing is lost: close some, and connect again with the "
    "id of the last event that you have."
)
RETRY_AFTER_SECONDS = 10.0


@router.get("/episodes/{episode_id}/events", openapi_extra=event_stream("episode"))
def follow_episode(request: HttpRequest, episode_id: str, after: str = "") -> HttpResponse:
    """What happened in an episode and what happens from now on, until it is over.

    Send the `id` of the last event that you have as `Last-Event-ID` or as `after`, and the stream continues there.
    If an episode is over and you have all events, the answer is 204. The same events come as JSON over WebSocket here.
    """
    return _follow(request, "episode", episode_id, after)


@router.get("/duels/{duel_id}/events", openapi_extra=event_stream("duel"))
def follow_duel(request: HttpRequest, duel_id: str, after: str = "") -> HttpResponse:
    """What happens in all episodes of a duel, in one order."""
    return _follow(request, "duel", duel_id, after)


@router.get("/jobs/{job_id}/events", openapi_extra=event_stream("job"))
def follow_job(request: HttpRequest, job_id: str, after: str = "") -> HttpResponse:
    """What happens to a job. For a training they are the events of the training."""
    return _follow(request, "job", job_id, after)


@router.get("/trainings/{job_id}/events", openapi_extra=event_stream("training"))
def follow_training(request: HttpRequest, job_id: str, after: str = "") -> HttpResponse:
    """What happens to a training: metrics, samples and checkpoints."""
    return _follow(request, "job", job_id, after, kind="training")


def _follow(request: HttpRequest, topic: str, key: str, after: str, *, kind: str = "") -> HttpResponse:
    """The stream of a row of this kind.

    Raises:
        Http404: if there is none for this person.
        Invalid: if they name no position in it.
    """
    stream, viewer, visitor = STREAMS[topic], request.user, visitors.known(request)
    if not stream.has(key, kind) or not TOPICS[topic].shows(key, viewer, visitor):
        raise Http404
    field, given = (HEADER, request.headers[HEADER]) if request.headers.get(HEADER) else ("after", after)
    reached = position(given) if given else BEGINNING
    if reached is None:
        raise Invalid([(field, NO_POSITION)])
    top, is_over = stream.reach(key)
    if reached > top:
        raise Invalid([(field, never_reached(top))])
    if is_over and reached == top:
        return HttpResponse(status=204)
    person, limit = place_of(SessionUser(viewer, visitor), _client(request))
    subscription = Subscription(
        topic=topic,
        key=key,
        audience=stream.audience_of(key, viewer, visitor),
        after=reached,
        is_over=is_over,
        credential=_credential(request),
        person=person,
        limit=limit,
        too_many=problem(429, TOO_MANY, wait=RETRY_AFTER_SECONDS),
    )
    return subscribe(request, subscription)


def _credential(request: HttpRequest) -> str:
    """By what the person can be identified again while the stream lasts."""
    token = token_of(request)
    return f"{TOKEN}{token.pk}" if token is not None else request.session.session_key or ""


def _client(request: HttpRequest) -> Any:
    return request.META.get("REMOTE_ADDR", "unknown"), 0
