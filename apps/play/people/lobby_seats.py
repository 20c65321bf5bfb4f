"""Free seats that anybody may take from the lobby, as long as the people who offer them wait on their page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from apps.accounts.models import Viewer
from apps.episodes.errors import NotYourTurn
from apps.episodes.models import Episode, Seat
from apps.episodes.visibility import own_seat
from apps.play.models import OpenInvitation
from apps.play.people import invitations

WAITING = timedelta(seconds=60)
"""How long after its page was last open a person counts as waiting."""
KEPT = timedelta(days=1)
MAX_LISTED = 12
MAX_TRIED = 5
"""How many open seats are tried before a new game begins; others may take them at the same time."""


@dataclass(frozen=True, slots=True)
class OpenSeat:
    """A seat that the reader may take."""

    episode: Episode
    seat: Seat
    host: Seat
    """Who waits."""
    since: OpenInvitation

    @property
    def link(self) -> str:
        """The address at which the seat is taken."""
        return invitations.address(self.seat)


def offer(episode: Episode) -> None:
    """List the free seat of an episode that has just begun. Nothing changes if it is listed, or taken."""
    free = [seat.number for seat in episode.seats.select_related("agent").order_by("number") if seat.is_free]
    OpenInvitation.objects.filter(seen__lt=timezone.now() - KEPT).delete()
    for number in free[:1]:
        OpenInvitation.objects.get_or_create(episode=episode, defaults={"env_id": episode.env_id, "number": number})


def still_here(episode: Episode, user: Viewer, visitor: str) -> None:
    """Note that the person who offers a seat still waits.

    Raises:
        NotYourTurn: it is not theirs.
    """
    if own_seat(episode, user, visitor) is None:
        raise NotYourTurn("Only the person who waits in this episode can offer its free seat.")
    OpenInvitation.objects.filter(pk=episode.pk).update(seen=timezone.now())


def open_seats(user: Viewer, visitor: str, env_id: str = "") -> list[OpenSeat]:
    """The seats that this person may take now, those that were offered first at the top."""
    listed = Episode.objects.listed_for(user).running()
    invited = OpenInvitation.objects.filter(seen__gt=timezone.now() - WAITING, episode__in=listed).order_by("created")
    if env_id:
        invited = invited.filter(env_id=env_id)
    found = list(invited[: 2 * MAX_LISTED])
    rows = listed.with_seats().filter(pk__in=[invitation.pk for invitation in found])
    episodes = {episode.pk: episode for episode in rows}
    seats = []
    for invitation in found:
        episode = episodes.get(invitation.pk)
        seat = _read(episode, invitation, user, visitor) if episode else None
        if seat is not None:
            seats.append(seat)
    return seats[:MAX_LISTED]


def _read(episode: Episode, invitation: OpenInvitation, user: Viewer, visitor: str) -> OpenSeat | None:
    free, host = None, None
    for seat in episode.seats.all():
        if seat.is_free and seat.number == invitation.number:
            free = seat
        elif seat.belongs_to(user, visitor):
            return None  # their own
        else:
            host = host or seat
    return OpenSeat(episode, free, host, invitation) if free and host else None


def refuse_unlisted(visibility: str) -> str:
    """Why a seat in an episode with this visibility cannot be offered in the lobby; empty if it can."""
    return "" if visibility in ("", "public") else "The lobby lists only public episodes: choose public."
