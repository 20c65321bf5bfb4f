"""Duels: several episodes of one seed, their agents in step, and the events that every page of it gets."""

import uuid

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db.models.functions import Now

from apps.agents.models import Agent
from apps.duels import operations as duels
from apps.duels.side_by_side import sides_of
from apps.duels.topics import DuelTopic
from apps.episodes import operations
from apps.episodes.errors import EpisodeEnded, NotFound, Refusal
from apps.episodes.models import Batch, Episode
from apps.play import operations as play
from apps.play.models import Show
from apps.play.shows import operations as shows
from apps.play.shows import show_leases
from gem.agents import Decision

ENV_ID = "game:GuessTheNumber-v0-hard"
VISITOR = "b" * 32
NOBODY = AnonymousUser()
TOPIC = DuelTopic()
pytestmark = pytest.mark.usefixtures("long_leases")
Agents = dict[str, Agent]


def begin(*who: Agent, env_id: str = ENV_ID, seed: int | None = 2, **options: bool) -> Batch:
    """A duel whose agents may act now."""
    duel = duels.start(duels.DuelStart(env_id, seed), who, pace=0.1, user=NOBODY, visitor=VISITOR, **options)
    make_due(duel)
    return duel


def make_due(duel: Batch) -> None:
    Show.objects.filter(episode__batch=duel).update(next_turn_at=Now())


def in_slots(duel: Batch) -> list[Episode]:
    return list(duel.episodes.order_by("slot"))


def claim(duel: Batch) -> uuid.UUID:
    token = uuid.uuid4()
    show_leases.claim(token, 10, showcase=False)
    return token


def act(episode: Episode, token: uuid.UUID, number: int = 99) -> show_leases.Taken | float | None:
    start = show_leases.begin_again(episode.pk)
    decision = Decision(f"\\boxed{{{number}}}")
    return show_leases.take_turn(episode.pk, token, start.env, start.episode.turn_count + 1, decision)


# ---------------------------------------------------------------- beginning


def test_all_episodes_begin_with_the_same_seed(agents: Agents) -> None:
    duel = begin(agents["expert"], agents["random"], seed=None)
    first, second = in_slots(duel)
    assert first.seed == second.seed
    assert first.first_observation == second.first_observation
    assert [episode.seats.get().agent.slug for episode in (first, second)] == ["expert", "random"]


def test_a_person_sits_on_the_left_and_no_agent_for_them(agents: Agents) -> None:
    duel = begin(agents["expert"], plays=True)
    own, other = in_slots(duel)
    assert own.seats.get().visitor == VISITOR
    assert not Show.objects.filter(episode=own).exists()
    assert Show.objects.get(episode=other).lock_step


def test_an_environment_of_several_seats_is_no_duel(agents: Agents) -> None:
    with pytest.raises(duels.NoDuel, match="agents already meet in one episode"):
        begin(agents["random"], agents["random"], env_id="duel:TicTacToe-v0")
    assert not Batch.objects.filter(kind=Batch.Kind.DUEL).exists()


@pytest.mark.parametrize("number", [0, 1, 5])
def test_two_to_four_stand_side_by_side(agents: Agents, number: int) -> None:
    with pytest.raises(duels.NoDuel, match="2 to 4 episodes"):
        begin(*[agents["random"]] * number)


def test_a_refused_agent_leaves_nothing_behind(agents: Agents) -> None:
    with pytest.raises(shows.CannotPlay):
        begin(agents["random"], agents["human"])
    assert not Episode.objects.exists()
    assert not Batch.objects.filter(kind=Batch.Kind.DUEL).exists()


def test_one_may_be_added_until_there_are_four(agents: Agents) -> None:
    duel = begin(agents["expert"], agents["random"])
    seq = TOPIC.current(duel.pk)
    duels.add(duel, agents["random"], user=NOBODY, visitor=VISITOR)
    duels.add(duel, agents["expert"], user=NOBODY, visitor=VISITOR)
    assert [episode.slot for episode in in_slots(duel)] == [0, 1, 2, 3]
    assert len({episode.seed for episode in in_slots(duel)}) == 1
    assert (TOPIC.current(duel.pk) or 0) > (seq or 0)
    with pytest.raises(duels.NoDuel, match="at most 4"):
        duels.add(duel, agents["random"], user=NOBODY, visitor=VISITOR)


# ---------------------------------------------------------------- in step


def test_nobody_is_more_than_a_turn_ahead(agents: Agents) -> None:
    duel = begin(agents["random"], agents["random"])
    first, second = in_slots(duel)
    token = claim(duel)
    assert isinstance(act(first, token, 1), show_leases.Taken)
    make_due(duel)
    assert act(first, token, 3) == show_leases.CATCH_UP_SECONDS
    assert isinstance(act(second, token, 5), show_leases.Taken)
    make_due(duel)
    assert isinstance(act(first, token, 3), show_leases.Taken)
    assert sides_of(duel).all[0].waits_for == "random 2"


def test_free_agents_wait_for_nobody(agents: Agents) -> None:
    duel = begin(agents["random"], agents["random"])
    first = in_slots(duel)[0]
    duels.keep_step(duel, lock_step=False)
    token = claim(duel)
    for number in (1, 3):
        make_due(duel)
        assert isinstance(act(first, token, number), show_leases.Taken)


def test_whoever_has_ended_is_not_waited_for(agents: Agents) -> None:
    duel = begin(agents["random"], agents["random"])
    first, second = in_slots(duel)
    token = claim(duel)
    act(first, token, 1)
    shows.stop(second.pk)
    make_due(duel)
    assert isinstance(act(first, token, 3), show_leases.Taken)


def test_a_person_begins_every_turn(agents: Agents) -> None:
    duel = begin(agents["expert"], plays=True)
    own, other = in_slots(duel)
    token = claim(duel)
    assert act(other, token, 5) == show_leases.CATCH_UP_SECONDS
    play.take_turn(own.pk, "\\boxed{1}", expected_seq=0, user=NOBODY, visitor=VISITOR)
    assert isinstance(act(other, token, 5), show_leases.Taken)
    make_due(duel)
    assert act(other, token, 7) == show_leases.CATCH_UP_SECONDS


def test_a_turn_of_a_duel_is_not_taken_back(agents: Agents) -> None:
    duel = begin(agents["expert"], plays=True)
    own = in_slots(duel)[0]
    play.take_turn(own.pk, "\\boxed{1}", expected_seq=0, user=NOBODY, visitor=VISITOR)
    with pytest.raises(Refusal, match="cannot undo a turn"):
        play.undo(own.pk, user=NOBODY, visitor=VISITOR)


# ---------------------------------------------------------------- steering


def test_one_button_steers_all_that_still_play(agents: Agents) -> None:
    duel = begin(agents["random"], agents["random"])
    duels.steer(duel, shows.pause)
    assert all(Show.objects.filter(episode__batch=duel).values_list("paused", flat=True))
    duels.steer(duel, shows.stop)
    assert {episode.outcome for episode in in_slots(duel)} == {Episode.Outcome.ABANDONED}
    with pytest.raises(EpisodeEnded):
        duels.steer(duel, shows.resume)


def test_only_who_started_it_steers_it(agents: Agents) -> None:
    duel = begin(agents["random"], agents["random"])
    assert duels.may_control(duel, NOBODY, VISITOR)
    assert not duels.may_control(duel, NOBODY, "c" * 32)
    assert not duels.may_control(duel, NOBODY, "")


def test_what_is_no_duel_is_not_found(agents: Agents) -> None:
    job = Batch.objects.create(kind=Batch.Kind.JOB)
    for key in (job.pk, "nothing"):
        with pytest.raises(NotFound):
            duels.find(key, AnonymousUser(), "")
        assert TOPIC.current(key) is None
        assert TOPIC.events(key, 0, "watch") == []


# ---------------------------------------------------------------- events


def test_every_turn_of_any_episode_raises_the_seq(agents: Agents) -> None:
    duel = begin(agents["random"], agents["random"])
    token = claim(duel)
    before = TOPIC.current(duel.pk) or 0
    for episode in in_slots(duel):
        act(episode, token, 1)
    assert TOPIC.current(duel.pk) == before + 2
    (event,) = TOPIC.events(duel.pk, before, "watch")
    assert event.seq == before + 2
    assert 'data-counts="1 1 "' in event.html
    assert TOPIC.events(duel.pk, event.seq, "watch") == []


def test_an_event_has_no_board_that_acts_and_nothing_of_a_reader(agents: Agents) -> None:
    duel = begin(agents["expert"], plays=True)
    own = in_slots(duel)[0]
    play.take_turn(own.pk, "\\boxed{1}", expected_seq=0, user=NOBODY, visitor=VISITOR)
    watch, mine = (TOPIC.events(duel.pk, 0, audience)[0].html for audience in ("watch", "slot-0"))
    assert watch.count('class="board"') == 2
    assert mine.count('class="board"') == 1
    assert "data-acting" not in watch + mine
    assert "csrf" not in watch + mine
    assert "data-seq" not in watch + mine  # the board that acts takes that for its own


def test_a_slot_is_for_who_plays_in_it(agents: Agents) -> None:
    duel = begin(agents["expert"], plays=True)
    assert TOPIC.allows(duel.pk, "watch", NOBODY, "")
    assert TOPIC.allows(duel.pk, "slot-0", NOBODY, VISITOR)
    for audience, visitor in (("slot-0", "c" * 32), ("slot-1", VISITOR), ("slot-x", VISITOR), ("seat-0", VISITOR)):
        assert not TOPIC.allows(duel.pk, audience, NOBODY, visitor)


def test_an_episode_of_a_job_or_alone_raises_no_other_seq(agents: Agents) -> None:
    batch = Batch.objects.create(kind=Batch.Kind.SHOWCASE)
    episode = shows.start(ENV_ID, agents["random"], batch=batch)
    operations.touch(episode)
    batch.refresh_from_db()
    assert batch.seq == 0
