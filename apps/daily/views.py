"""The page of a day, the button that begins it, and cards to share a result."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.daily import cards, days, operations, results
from apps.daily.cards import Card
from apps.daily.models import Try
from apps.episodes.errors import Refusal
from apps.episodes.models import Episode
from apps.episodes.snapshot import snapshot
from apps.episodes.visibility import own_seat
from apps.play.starting import limits, once
from apps.seasons.models import Season
from apps.visibility import Visibility
from gem.errors import GemError

MOST_PAST = 14
"""Past days in the list."""


@never_cache
@require_safe
def today(request: HttpRequest) -> HttpResponse:
    """The daily seed of today."""
    return _page(request, days.today())


@never_cache
@require_safe
def day(request: HttpRequest, number: int) -> HttpResponse:
    """The daily seed of a day. Of one that is over, everything is open."""
    return _page(request, _find(number))


@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """Begin today's seed, or go on with it."""
    visitor = once.visitor_of(request)
    try:
        limits.check_start(request)
        episode = operations.begin(days.today(), request.user, visitor)
    except (Refusal, GemError) as refusal:
        messages.error(request, str(refusal))
        return redirect("daily:today")
    return redirect(episode)


@never_cache
@require_safe
def shared(request: HttpRequest, number: int, episode_id: str) -> HttpResponse:
    """The page of a shared result, which previews of links read: the card, and the way to today's seed."""
    found = _find(number)
    card = _card(request, found, _shared_episode(request, found, episode_id))
    request.reported = None  # type: ignore[attr-defined]  # nothing of the episode is shown
    image = request.build_absolute_uri(reverse("daily:card_png", args=[number, episode_id]))
    context = {"day": found, "card": card, "image_url": image, "episode_id": episode_id, "section": "play"}
    return render(request, "daily/shared.html", context)


@never_cache
@require_safe
def card_svg(request: HttpRequest, number: int, episode_id: str) -> HttpResponse:
    """The card of a shared result as SVG."""
    found = _find(number)
    card = _card(request, found, _shared_episode(request, found, episode_id))
    return HttpResponse(cards.as_svg(card), content_type="image/svg+xml")


@never_cache
@require_safe
def card_png(request: HttpRequest, number: int, episode_id: str) -> HttpResponse:
    """The card of a shared result as PNG."""
    found = _find(number)
    card = _card(request, found, _shared_episode(request, found, episode_id))
    return HttpResponse(cards.as_png(card), content_type="image/png")


@never_cache
@require_safe
def line(request: HttpRequest) -> HttpResponse:
    """One line about today's seed, for other pages."""
    found = days.today()
    context = {"day": found, "env_id": days.env_id_of(found), **_counts(found), **_own(request, found)}
    return render(request, "daily/line.html", context)


# ---------------------------------------------------------------- helpers


def _find(number: int) -> Season:
    found = days.find(number)
    if found is None:
        raise Http404("There is no daily seed with this number.")
    return found


def _page(request: HttpRequest, found: Season) -> HttpResponse:
    own = _own(request, found)
    is_open = found.is_revealed
    result = own["result"]
    shows_results = is_open or result is not None
    user_id = request.user.pk
    context: dict[str, Any] = {
        "day": found,
        "date": days.date_of(found.number),
        "env_id": days.env_id_of(found),
        "is_open": is_open,
        "is_today": not found.is_over,
        "seed": days.seed_of(found) if is_open else None,
        "past": days.past().exclude(pk=found.pk)[:MOST_PAST],
        "streak": results.streak(user_id, found.number),
        "seconds_left": max(0, round((found.ends - timezone.now().astimezone(UTC)).total_seconds())),
        "section": "play",
        **_counts(found),
        **own,
    }
    if shows_results:
        context |= {"bars": results.curve(found, result), "rows": results.table(found, user_id)}
    if result is not None:
        context["card"] = _card(request, found, own["episode"])
        context |= {"share_url": request.build_absolute_uri(_share(found, own["episode"]))}
        context["shot"] = snapshot(own["episode"], 0)
    return render(request, "daily/day.html", context)


def _own(request: HttpRequest, found: Season) -> dict[str, Any]:
    """The episode of the person who looks, and how it ended if it is over."""
    episode = operations.own_episode(found, request.user, visitors.known(request))
    if episode is not None and episode.over:
        operations.collect_own(episode)
    result = results.result_of(found, episode) if episode is not None and (episode.over or found.is_revealed) else None
    return {
        "episode": episode,
        "result": result,
        "beaten": results.beaten(found, result, own=episode) if result is not None else None,
        "ranks": episode is not None and Try.objects.filter(episode=episode).exists(),
    }


def _counts(found: Season) -> dict[str, int]:
    people, agents = results.counts(found)
    return {"people": people, "agents": agents}


def _share(found: Season, episode: Episode) -> str:
    return reverse("daily:shared", args=[found.number, episode.pk])


def _shared_episode(request: HttpRequest, found: Season, episode_id: str) -> Episode:
    """An episode that is over, whose address somebody shared.

    While the day lasts, nobody but its player sees it, but everybody may know how it ended, as with all hidden seeds.
    """
    episode = operations.episodes_of(found).filter(pk=episode_id, hidden_reason="").select_related("batch").first()
    if episode is None or not (episode.over or found.is_revealed):
        raise Http404("There is no such result.")
    is_mine = own_seat(episode, request.user, visitors.known(request)) is not None
    if episode.governing_visibility == Visibility.PRIVATE and not (is_mine or request.user.is_staff):
        raise Http404("There is no such result.")
    return episode


def _card(request: HttpRequest, found: Season, episode: Episode) -> Card:
    result = results.result_of(found, episode)
    seat = episode.seats.select_related("user").get(number=episode.scored_seat)
    tells = seat.user is not None and (seat.user.is_named or seat.user == request.user)
    played = [one for one in results.streak(seat.user_id if tells else None, found.number) if one.state]
    solved = sum(one.state == "won" for one in played)
    days_in_words = f"{solved} solved of {len(played)} played in the last {results.STREAK_DAYS} days"
    return Card(
        number=found.number,
        day=days.date_of(found.number),
        env_id=days.env_id_of(found),
        solved=result.solved,
        turns=result.turns,
        most_turns=episode.max_turns,
        beaten=results.beaten(found, result, own=episode).sentence,
        days=days_in_words if len(played) > 1 else "",
        address=request.build_absolute_uri(reverse("daily:day", args=[found.number])),
    )
