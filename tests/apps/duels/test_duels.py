"""Duels on pages: the form, what stands side by side, where the episodes part, and the verdict."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from apps.agents.models import Agent
from apps.duels import head_to_head
from apps.duels.side_by_side import part_at, sides
from apps.episodes import operations
from apps.episodes.models import Batch, Episode
from apps.episodes.restore import restore
from apps.episodes.snapshot import public_snapshot
from gem.evaluation.scores import paired_difference
from tests.apps.agents import built_in
from tests.apps.play.people import BOX, Person
from tests.html import tight

GUESS = "game:GuessTheNumber-v0-hard"
CHOSEN = {"env_id": GUESS, "first": "expert", "second": "random", "seed": "5", "pace": "0.5"}

pytestmark = pytest.mark.django_db


def begin(person: Person | None = None, **fields: str) -> Batch:
    answer = (person or Person()).client.post("/play/duel/new/", {**CHOSEN, **fields})
    assert answer.status_code == 302, answer.content[:3000]
    return Batch.objects.get(pk=answer["Location"].rstrip("/").rpartition("/")[2])


def play(agent: str, guesses: list[int], *, seed: int = 2) -> Episode:
    """An episode in which an agent guessed these numbers; with seed 2 the secret is none of 1 to 9."""
    episode = operations.begin(GUESS, seed=seed, seats=[operations.Occupant(built_in(agent))])
    for guess in guesses:
        operations.record_turn(episode, restore(episode), BOX % guess)
    return Episode.objects.get(pk=episode.pk)


def secret(seed: int = 2) -> int:
    episode = play("random", [], seed=seed)
    return int((episode.state or {})["env"]["secret"])


def stand(*episodes: Episode):  # type: ignore[no-untyped-def]
    return sides([public_snapshot(episode) for episode in episodes])


# ---------------------------------------------------------------- the form


def test_two_agents_begin_on_one_seed() -> None:
    duel = begin()
    first, second = duel.episodes.order_by("slot")
    assert (first.seed, second.seed) == (5, 5)
    assert [first.show.pace, first.show.lock_step] == [0.5, True]
    assert [episode.seats.get().agent.slug for episode in (first, second)] == ["expert", "random"]


def test_each_at_its_own_pace_and_unlisted() -> None:
    duel = begin(free="on", visibility="unlisted")
    assert not any(episode.show.lock_step for episode in duel.episodes.all())
    assert {episode.governing_visibility for episode in duel.episodes.all()} == {"unlisted"}


def test_a_guest_plays_under_the_name_that_they_have_chosen() -> None:
    person = Person()
    person.client.post("/play/name/", {"name": "Grace"})
    duel = begin(person, first="you")
    assert [episode.seats.get().name for episode in duel.episodes.order_by("slot")] == ["Grace", ""]


def test_a_person_gets_a_board_that_acts_and_others_do_not() -> None:
    person, other = Person(), Person()
    duel = begin(person, first="you")
    page, watched = (who.client.get(f"/play/duel/{duel.pk}/").content.decode() for who in (person, other))
    assert 'id="say"' in page
    assert "audience=seat-0" in page
    assert "audience=slot-0" in page
    assert 'id="say"' not in watched
    assert "audience=watch" in watched
    assert "data-hint-button" not in page
    assert "Undo" not in page


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"first": "nobody"}, "This agent is not available"),
        ({"second": "you"}, "This agent is not available"),
        ({"second": "human"}, "This agent is not available"),
        ({"seed": "-1"}, "A seed cannot be negative"),
        ({"env_id": "game:Sokban-v0"}, "game:Sokoban-v0"),
        ({"env_id": "duel:TicTacToe-v0"}, "agents already meet in one episode"),
        ({"env_id": "rg:leg_counting"}, "There is no expert for rg:leg_counting"),
    ],
)
def test_what_cannot_be_is_explained(fields: dict[str, str], sentence: str) -> None:
    answer = Person().client.post("/play/duel/new/", {**CHOSEN, **fields})
    assert answer.status_code in {400, 422}
    assert sentence in answer.content.decode()
    assert not Episode.objects.exists()


def test_a_race_begins_exactly_as_the_episode_it_is_like() -> None:
    like = operations.begin(
        GUESS, seed=9, seats=[operations.Occupant(built_in("expert"))], env_kwargs={"max_number": 20}
    )
    page = Client().get(f"/play/duel/new/?like={like.pk}&first=you&second=expert").content.decode()
    assert 'value="9"' in page
    duel = begin(like=like.pk, seed="9")
    assert all(episode.env_kwargs == {"max_number": 20} for episode in duel.episodes.all())


# ---------------------------------------------------------------- the page


def test_the_address_opens_all_boards_at_a_turn() -> None:
    first, second = play("expert", [1, 3, 5]), play("random", [1, 4])
    page = tight(Client().get(f"/play/side-by-side/{first.pk}/{second.pk}/?turn=3"))
    assert re.findall(r"data-side-turn>(\d+)<", page) == ["3", "2"]
    assert page.count('data-showing="past"') == 2
    late = tight(Client().get(f"/play/side-by-side/{first.pk}/{second.pk}/?turn=999"))
    assert re.findall(r"data-side-turn>(\d+)<", late) == ["3", "2"]


def test_only_the_same_start_stands_side_by_side() -> None:
    first, other = play("expert", [1]), play("expert", [1], seed=3)
    for one, two in ((first, other), (first, first)):
        assert Client().get(f"/play/side-by-side/{one.pk}/{two.pk}/").status_code == 404


def test_an_agent_is_added_by_who_started_it() -> None:
    person = Person()
    duel = begin(person)
    assert Person().client.post(f"/play/duel/{duel.pk}/add/", {"agent": "random"}).status_code == 403
    assert person.client.post(f"/play/duel/{duel.pk}/add/", {"agent": "nobody"}).status_code == 400
    assert person.client.post(f"/play/duel/{duel.pk}/add/", {"agent": "random"}).status_code == 302
    assert duel.episodes.count() == 3
    assert "three agents" in tight(person.client.get(f"/play/duel/{duel.pk}/"))


def test_buttons_do_what_they_say_and_nothing_else() -> None:
    person = Person()
    duel = begin(person)
    address = f"/play/duel/{duel.pk}/control"
    assert person.client.post(f"{address}/pause/").status_code == 302
    assert all(episode.show.paused for episode in duel.episodes.select_related("show"))
    assert person.client.post(f"{address}/free/").status_code == 302
    assert not any(episode.show.lock_step for episode in duel.episodes.select_related("show"))
    assert person.client.post(f"{address}/pace/", {"pace": "x"}).status_code == 400
    assert person.client.post(f"{address}/dance/").status_code == 404
    assert person.client.post(f"{address}/stop/").status_code == 302
    assert person.client.post(f"{address}/pause/").status_code == 409
    assert "No verdict" in tight(person.client.get(f"/play/duel/{duel.pk}/"))


def test_an_episode_names_its_duel_and_the_lobby_too() -> None:
    duel = begin()
    episode = duel.episodes.first()
    assert f"/play/duel/{duel.pk}/" in Client().get(episode.get_absolute_url()).content.decode()
    assert f"/play/duel/{duel.pk}/" in Client().get("/play/watch/").content.decode()
    hidden = begin(visibility="unlisted")
    assert f"/play/duel/{hidden.pk}/" not in Client().get("/play/watch/").content.decode()


def test_there_is_no_duel_where_there_is_none() -> None:
    example = Batch.objects.create(kind=Batch.Kind.EXAMPLE)
    for key in ("nothing", example.pk):
        assert Client().get(f"/play/duel/{key}/").status_code == 404


# ---------------------------------------------------------------- where they part


@pytest.mark.parametrize(
    ("actions", "parting"),
    [
        ([["a", "b"], ["a", "c"]], 2),
        ([["a", "b"], ["a"]], None),
        ([["a"], ["b"]], 1),
        ([[], []], None),
        ([["a", "b"], ["a"], ["a", "c"]], 2),
        ([["a", "b", "c"], ["a", "b", "c"]], None),
    ],
)
def test_they_part_where_the_actions_first_differ(actions: list[list[str]], parting: int | None) -> None:
    assert part_at(actions) == parting


def test_prose_around_the_same_action_is_no_parting() -> None:
    first = play("expert", [1, 3])
    second = operations.begin(GUESS, seed=2, seats=[operations.Occupant(built_in("random"))])
    operations.record_turn(second, restore(second), "Let me see. \\boxed{1} it is.")
    operations.record_turn(second, restore(second), BOX % 4)
    found = stand(first, Episode.objects.get(pk=second.pk))
    assert found.parting == 2
    headline, rest = found.parting_sentence
    assert headline == "They diverge at turn 2."
    assert rest.startswith("expert plays 3, random plays 4. Before that")


# ---------------------------------------------------------------- who did better


def test_solved_beats_not_solved() -> None:
    found = stand(play("random", [1, 2, 3, 4, 5, 6, 7]), play("expert", [secret()]))
    assert found.verdict[0] == "expert wins."
    assert "expert: solved in 1 turn, return 1.00." in found.verdict[1]
    assert [side.best for side in found.all] == [False, True]


def test_of_two_that_solved_it_the_faster_one_wins() -> None:
    found = stand(play("random", [1, secret()]), play("expert", [1, 2, secret()]))
    assert found.verdict[0] == "random wins."


def test_equals_draw() -> None:
    found = stand(play("random", [secret()]), play("expert", [secret()]))
    assert found.verdict[0] == "A draw."
    assert not any(side.best for side in found.all)


def test_where_none_solved_it_the_higher_return_came_furthest() -> None:
    near = secret() - 1
    found = stand(play("random", [1, 2, 3, 4, 5, 6, 7]), play("expert", [1, 2, 3, 4, 5, 6, near]))
    assert found.verdict[0] == "None of them solved it; expert has the highest return."


def test_while_one_plays_there_is_no_winner() -> None:
    found = stand(play("random", [1]), play("expert", [secret()]))
    assert found.verdict[0] == "Waiting for random to finish."
    assert not any(side.best for side in found.all)


def test_what_was_given_up_has_no_verdict() -> None:
    given_up = play("random", [1])
    operations.abandon(given_up)
    found = stand(Episode.objects.get(pk=given_up.pk), play("expert", [secret()]))
    assert found.verdict[0].startswith("No verdict")


def test_an_agent_beside_itself_is_numbered() -> None:
    found = stand(play("random", [1]), play("random", [2]))
    assert [side.name for side in found.all] == ["random 1", "random 2"]


# ---------------------------------------------------------------- these two so far


def test_only_seeds_that_both_have_ended_are_counted() -> None:
    won = play("expert", [secret()]), play("random", [1, 2, 3, 4, 5, 6, 7])
    play("expert", [secret(3)], seed=3)
    play("expert", [secret(4)], seed=4)
    play("random", [1], seed=4)  # still runs
    found = stand(*won)
    record = head_to_head.record(*found.all)
    assert record is not None
    assert (record.both, record.only_first, record.only_second, record.neither) == (0, 1, 0, 0)
    assert record.claim == "Too close to call with 1 seed."


@pytest.mark.parametrize(("won", "is_claimed"), [(3, False), (4, False), (5, False), (6, True)])
def test_a_few_seeds_won_in_a_row_are_no_claim_before_chance_makes_them_seldom(won: int, is_claimed: bool) -> None:
    """Of equally good agents, one of the two wins the first five seeds in one of 16 duels, and six in one of 32."""
    for only_first, only_second in ((won, 0), (0, won)):
        record = head_to_head.Record("ann", "bob", 0, only_first, only_second, 0)
        better = "ann" if only_first else "bob"
        expected = f"{better} is better here; this is unlikely to be luck."
        assert record.claim == (
            expected if is_claimed else f"Too close to call by McNemar's exact test with {won} seeds."
        )


def test_the_newest_episode_of_a_seed_counts() -> None:
    play("expert", [1, 2, 3, 4, 5, 6, 7])
    found = stand(play("expert", [secret()]), play("random", [secret()]))
    record = head_to_head.record(*found.all)
    assert record is not None
    assert (record.both, record.seeds) == (1, 1)


def test_an_agent_beside_itself_has_no_record() -> None:
    assert head_to_head.record(*stand(play("random", [1]), play("random", [2])).all) is None
    assert Agent.objects.filter(slug="random").count() == 1


def test_the_paired_interval_is_that_of_agresti_and_min() -> None:
    # 20 seeds, 9 for the first alone, 2 for the second: (9.5 - 2.5) / 22 -+ 1.96 sqrt(12 - 49 / 22) / 22
    mean, low, high = paired_difference(9, 2, 20)
    assert mean == pytest.approx(0.35)
    assert low == pytest.approx(0.0397, abs=1e-4)
    assert high == pytest.approx(0.5967, abs=1e-4)
    assert paired_difference(0, 0, 4).low < 0 < paired_difference(0, 0, 4).high
