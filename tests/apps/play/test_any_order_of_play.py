"""Whatever people do in whatever order: nobody acts for another, and the record is what was played."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from pytest_django.fixtures import Settings

import gem
from apps.episodes import operations
from apps.episodes.models import Episode
from apps.episodes.restore import restore
from tests.apps.agents import built_in
from tests.apps.play.people import Person
from tests.counts import Counted

ALONE = ("game:GuessTheNumber-v0-easy", "game:TowerofHanoi-v0-easy", "game:Wordle-v0-easy")
TOGETHER = ("duel:TicTacToe-v0", "duel:PrisonersDilemma-v0")
PEOPLE = 3
people = st.integers(0, PEOPLE - 1)
typed = (
    st.none()
    | st.text(max_size=20)
    | st.sampled_from(["\\boxed{1}", "\\boxed{A to B}", "\\boxed{\x00}", "\u202e\x1b[31m"])
)
"""What somebody sends; None stands for an action of the environment itself."""
ran: dict[str, int] = {}
"""How often each thing was done, and how often it was refused."""


@dataclass
class Known:
    """What has to be true of an episode."""

    seats: dict[int, int]
    """Who sits where: a person by the number of the seat."""
    seq: int = 0
    over: bool = False
    advised: bool = False
    turns: list[tuple[Any, ...]] | None = None
    """None until it was looked at."""


class Play(RuleBasedStateMachine):
    """People with a browser each, and a model of who may do what."""

    episodes = Bundle("episodes")

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.people = [Person() for _ in range(PEOPLE)]
        self.known: dict[str, Known] = {}
        self.random = random.Random(0)

    def teardown(self) -> None:
        """Forget the example."""
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    # ------------------------------------------------------------ what people do

    @rule(target=episodes, who=people, env_id=st.sampled_from(ALONE), seed=st.integers(0, 99))
    def begin(self, who: int, env_id: str, seed: int) -> str:
        return self._learn(self.people[who].begin(env_id, seed), {0: who})

    @rule(target=episodes, who=people, env_id=st.sampled_from(TOGETHER))
    def invite(self, who: int, env_id: str) -> str:
        return self._learn(self.people[who].begin(env_id, opponent="person", seat="0"), {0: who})

    @rule(who=people, episode_id=episodes)
    def join(self, who: int, episode_id: str) -> None:
        episode, known = self._look(episode_id)
        if 1 in known.seats or gem.spec(episode.env_id).seats == 1 or known.over:
            return
        if episode.seats.get(number=1).agent.slug == "expert":  # in a fork of an episode that nobody had joined
            return
        link = self.people[known.seats[0]].link(episode)
        answer = self.people[who].client.post(link)
        taken = Episode.objects.get(pk=episode_id).seats.get(number=1).visitor != ""
        assert taken == (who != known.seats[0]), "a seat is taken by somebody else than its partner, and only once"
        if taken:
            known.seats[1] = who
        self._note("join", answer, refused=not taken)

    @rule(who=people, episode_id=episodes, text=typed, behind=st.integers(0, 2))
    def take_turn(self, who: int, episode_id: str, text: str | None, behind: int) -> None:
        episode, known = self._look(episode_id)
        action = text
        if action is None:
            action = "over" if known.over else restore(episode).sample_random_action()
        sent = {"seq": max(0, episode.seq - behind), "as_written": "1"}
        answer = self.people[who].send(episode, action, **sent)
        may = who in known.seats.values() and not known.over and sent["seq"] == episode.seq
        self._check_change(episode, answer, may=may, name="turn")

    @rule(who=people, episode_id=episodes)
    def abandon(self, who: int, episode_id: str) -> None:
        episode, known = self._look(episode_id)
        answer = self.people[who].client.post(f"/play/{episode_id}/abandon/")
        self._check_change(episode, answer, may=who in known.seats.values() and not known.over, name="abandon")

    @rule(who=people, episode_id=episodes)
    def ask_for_a_hint(self, who: int, episode_id: str) -> None:
        episode, known = self._look(episode_id)
        answer = self.people[who].client.get(f"/play/{episode_id}/hint/")
        may = who in known.seats.values() and not known.over
        assert answer.status_code < 500, answer.content[:500]
        assert may or not episode.seats.filter(advised=True).exists() or known.advised, "a hint for somebody else"
        known.advised = known.advised or may
        assert (episode.seq, episode.turn_count) == self._now(episode_id), "a hint plays nothing"
        self._note("hint", answer)

    @rule(target=episodes, who=people, episode_id=episodes)
    def undo(self, who: int, episode_id: str) -> str:
        episode, known = self._look(episode_id)
        before = set(Episode.objects.values_list("pk", flat=True))
        answer = self.people[who].client.post(f"/play/{episode_id}/undo/")
        may = set(known.seats) == {0} and gem.spec(episode.env_id).seats == 1 and who == known.seats[0]
        return self._branch(episode, before, answer, known.seats, may=may, name="undo")

    @rule(target=episodes, who=people, episode_id=episodes, turn=st.integers(-1, 4))
    def fork(self, who: int, episode_id: str, turn: int) -> str:
        episode, _ = self._look(episode_id)
        before = set(Episode.objects.values_list("pk", flat=True))
        answer = self.people[who].client.post(f"/play/{episode_id}/fork/", {"turn": turn})
        may = 0 <= turn <= episode.turn_count
        seat = episode.acting if gem.spec(episode.env_id).seats == 1 else None
        return self._branch(episode, before, answer, {0: who} if seat == 0 else None, who=who, may=may, name="fork")

    # ------------------------------------------------------------ what is true whatever they did

    @invariant()
    def every_episode_is_what_was_played(self) -> None:
        for episode_id, known in self.known.items():
            episode = Episode.objects.get(pk=episode_id)
            if episode.seq == known.seq and episode.over == known.over and known.turns is not None:
                continue
            turns = list(episode.turns.order_by("number").values_list("number", "seat", "action", "reward"))
            assert episode.seq >= known.seq, "seq falls"
            assert not (known.over and not episode.over), "an episode that is over goes on"
            before = known.turns or []
            assert turns[: len(before)] == before, "a recorded turn has changed"
            assert [turn[0] for turn in turns] == list(range(1, episode.turn_count + 1))
            assert operations.verify(episode) is None, "a re-execution differs from the record"
            known.seq, known.over, known.turns = episode.seq, episode.over, turns

    # ------------------------------------------------------------ helpers

    def _learn(self, episode: Episode, seats: dict[int, int]) -> str:
        ran["begin"] = ran.get("begin", 0) + 1
        self.known[episode.pk] = Known(dict(seats), episode.seq)
        return episode.pk

    def _look(self, episode_id: str) -> tuple[Episode, Known]:
        return Episode.objects.get(pk=episode_id), self.known[episode_id]

    def _now(self, episode_id: str) -> tuple[int, int]:
        episode = Episode.objects.get(pk=episode_id)
        return episode.seq, episode.turn_count

    def _check_change(self, episode: Episode, answer: HttpResponse, *, may: bool, name: str) -> None:
        """Nothing may change if `may` is False; a refusal is an answer of the visitor's fault, never ours."""
        assert answer.status_code < 500, answer.content[:500]
        changed = self._now(episode.pk) != (episode.seq, episode.turn_count)
        assert may or not changed, f"{name} by somebody who may not"
        assert may or answer.status_code >= 400, f"{name} is not refused"
        self._note(name, answer)

    def _branch(
        self,
        episode: Episode,
        before: set[str],
        answer: HttpResponse,
        seats: dict[int, int] | None,
        *,
        may: bool,
        name: str,
        who: int | None = None,
    ) -> str:
        """The branch that was begun, or the episode itself if none was."""
        assert answer.status_code < 500, answer.content[:500]
        begun = list(Episode.objects.exclude(pk__in=before))
        assert len(begun) <= 1
        assert may or not begun, f"{name} by somebody who may not"
        self._note(name, answer, refused=not begun)
        if not begun:
            return episode.pk
        if seats is None:
            visitors = list(begun[0].seats.order_by("number").values_list("visitor", flat=True))
            seats = {number: who for number, visitor in enumerate(visitors) if visitor and who is not None}
        self.known[begun[0].pk] = Known(dict(seats), begun[0].seq)
        return begun[0].pk

    def _note(self, name: str, answer: HttpResponse, *, refused: bool | None = None) -> None:
        is_refused = answer.status_code >= 400 if refused is None else refused
        key = f"{name}, refused" if is_refused else name
        ran[key] = ran.get(key, 0) + 1


@pytest.mark.django_db
@pytest.mark.parametrize("examples", [6, pytest.param(600, marks=pytest.mark.long)])
def test_nobody_acts_for_another_and_the_record_is_what_was_played(
    settings_of_site: None, examples: int, counted: Counted
) -> None:
    ran.clear()
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Play,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],  # a failing example is printed; a shorter one would take minutes
            suppress_health_check=list(HealthCheck),
        ),
    )
    for name, count in ran.items():
        counted(f"play in any order: {name}", count)
    assert ran["turn"] > 0


@pytest.fixture
def settings_of_site(settings: Settings, db: None) -> None:
    """Nobody is too fast, and the built-in agents are there."""
    settings.STARTS_PER_MINUTE = 10**6
    for name in ("human", "expert", "random"):
        built_in(name)
