"""Episodes of two seats in tests: two people at the table, and agents that act at once."""

from __future__ import annotations

from uuid import uuid4

from django.db.models.functions import Now

from apps.episodes.models import Episode
from apps.play.models import Show
from apps.play.shows import show_leases
from gem.agents import Request, make_agent
from gem.seats import observation_for_seat
from tests.apps.play.people import Person


def pair(env_id: str) -> tuple[list[Person], Episode]:
    """Two people with an episode between them, by its link."""
    people = [Person(), Person()]
    episode = people[0].begin(env_id, opponent="person", seat="0")
    people[1].sit_down(people[0].link(episode))
    return people, episode


def act_for_agents(episode: Episode) -> None:
    """Take the turns of the agents' seats as a host does, without its waits."""
    token = uuid4()
    while episode.id in show_leases.claim(token, 1, showcase=True):
        start = show_leases.begin_again(episode.id)
        seat = start.env.to_act[0]
        while seat in start.agents:
            reading, own = observation_for_seat(seat, start.observation, start.info)
            request = Request(start.env, reading, own, 1, seat)
            (decision,) = make_agent(start.agents[seat][0].kind).act([request])
            Show.objects.filter(pk=episode.pk).update(next_turn_at=Now())
            number = Episode.objects.get(pk=episode.pk).turn_count + 1
            show_leases.take_turn(episode.id, token, start.env, number, decision)
            if Episode.objects.get(pk=episode.pk).over:
                break
            start = show_leases.begin_again(episode.id)
            seat = start.env.to_act[0]
        show_leases.release(token)
