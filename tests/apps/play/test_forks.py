"""Forks as a tree: several continuations at once, where branches part, what they export, and who may see them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from apps.accounts.models import User
from apps.episodes import branches, operations
from apps.episodes.errors import NotFound, Sealed
from apps.episodes.models import Batch, Episode
from apps.episodes.operations import Occupant
from apps.episodes.restore import restore
from apps.play.models import Show
from apps.play.shows import continuing
from apps.play.shows.operations import TooManyShows
from apps.play.tree import drawing, exporting
from apps.play.tree.expected import Expected, expected
from apps.play.tree.reading import Tree, tree_of, why_closed
from tests.apps.agents import built_in
from tests.html import tight, whole_of

pytestmark = pytest.mark.django_db
GUESS = "game:GuessTheNumber-v0-easy"
SECRET = 3
"""The number of seed 3."""
NOBODY = AnonymousUser()


def box(guess: int) -> str:
    return f"\\boxed{{{guess}}}"


def play(episode: Episode, guesses: Sequence[int]) -> Episode:
    env = restore(episode)
    for guess in guesses:
        operations.record_turn(episode, env, box(guess))
    return episode


def begin(guesses: Sequence[int], agent: str = "random", **more: Any) -> Episode:
    return play(operations.begin(GUESS, seed=3, seats=[Occupant(built_in(agent))], **more), guesses)


def fork(episode: Episode, turn: int, guesses: Sequence[int], agent: str = "expert", **fields: Any) -> Episode:
    draft = branches.draft_fork(episode, turn)
    for name, value in fields.items():
        setattr(draft, name, value)
    return play(branches.store_branch(draft, seats=[Occupant(built_in(agent))]), guesses)


def tree(episode: Episode, user: Any = NOBODY) -> Tree:
    return tree_of(episode, user, "")


# ---------------------------------------------------------------- continuing


def test_an_agent_continues_several_times_at_once_and_draws_anew_in_each() -> None:
    episode = begin([1, 9])
    found = continuing.continue_with(episode, 1, built_in("random"), count=4)
    rows = Episode.objects.filter(parent=episode)
    assert {row.pk for row in rows} == {branch.pk for branch in found}
    assert [(row.parent_turn, row.turn_count, row.seq) for row in rows] == [(1, 1, 1)] * 4
    assert [row.turns.get().action for row in rows] == [box(1)] * 4
    assert set(Show.objects.filter(episode__in=rows).values_list("pace", flat=True)) == {0.1}
    assert len({branches.draw_key_of(row) for row in rows}) == 4
    assert {row.played_seed for row in rows} == {3}


def test_there_is_room_for_so_many_and_no_more(settings: Any) -> None:
    settings.SHOWS_PER_PERSON = 2
    user, episode = User.objects.create_user("ada"), begin([1])
    with pytest.raises(TooManyShows, match="one person may have 4"):
        continuing.continue_with(episode, 0, built_in("random"), count=5, user=user)
    assert not Episode.objects.filter(parent=episode).exists()
    continuing.continue_with(episode, 0, built_in("random"), count=4, user=user)
    with pytest.raises(TooManyShows):
        continuing.continue_with(episode, 0, built_in("random"), count=1, user=user)
    for count in (0, 65):
        with pytest.raises(NotFound, match="1 to 64 times"):
            continuing.continue_with(episode, 0, built_in("random"), count=count)


# ---------------------------------------------------------------- where branches part


def test_turns_that_are_shared_are_one_branch() -> None:
    first = begin([1, 9, 2, SECRET])
    same_second = fork(first, 1, [9, 5, SECRET])  # goes on like the first for one turn more
    other_second = fork(first, 1, [8, SECRET])
    like_it = fork(first, 1, [8, 2, SECRET])  # and these two share a turn that the first does not have
    found = tree(first)
    by_id = {branch.episode.pk: branch for branch in found.branches}
    assert found.root.episode == first
    assert [(by_id[key.pk].parts_at, by_id[key.pk].line.episode) for key in (same_second, other_second)] == [  # type: ignore[union-attr]
        (2, first),
        (1, first),
    ]
    assert (by_id[like_it.pk].parts_at, by_id[like_it.pk].line) == (2, by_id[other_second.pk])
    assert by_id[like_it.pk].fork_turn == 1
    order = [branch.episode for branch in found.branches]
    assert order == [first, same_second, other_second, like_it]  # whoever parts later is nearer
    assert found.solved == 3


def test_equal_continuations_and_long_ones_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.play.tree.hashes.FIRST_WINDOW", 1)
    first = begin([1, 9, 2, SECRET])
    twin, late = fork(first, 0, [1, 9, 2, SECRET]), fork(first, 0, [1, 9, 2, 4])
    parts = {branch.episode: branch.parts_at for branch in tree(first).branches}
    assert parts == {first: 0, twin: 4, late: 3}
    assert tree(late).here.episode == late


def test_a_branch_of_a_branch_hangs_where_it_parts() -> None:
    first = begin([1, 9])
    second = fork(first, 1, [8, 2])
    third = fork(second, 1, [9, 5, SECRET])  # from the turn that the second has from the first
    parts = {branch.episode: branch for branch in tree(third).branches}
    assert (parts[third].line, parts[third].parts_at) == (parts[first], 2)
    assert (parts[second].line, parts[second].parts_at) == (parts[first], 1)


# ---------------------------------------------------------------- who may see what


def test_lists_hide_what_is_unlisted_and_what_was_forked_from_it() -> None:
    first = begin([1])
    hidden = fork(first, 1, [2], visibility="unlisted")
    below = fork(hidden, 2, [SECRET], visibility="public")
    Episode.objects.filter(pk=below.pk).update(visibility="public")
    assert [branch.episode for branch in tree(first).branches] == [first]
    assert [branch.episode for branch in tree(hidden).branches] == [first, hidden, below]


def test_a_private_parent_is_not_in_the_tree_of_its_branch() -> None:
    owner = User.objects.create_user("ada")
    first = operations.begin(GUESS, seed=3, seats=[Occupant(built_in("human"), user=owner)], visibility="private")
    play(first, [1])
    branch = fork(first, 1, [2], visibility="public")
    assert [each.episode for each in tree(branch).branches] == [branch]
    assert tree(branch).root.parts_at == 0
    assert [each.episode for each in tree(branch, owner).branches] == [first, branch]


def test_nothing_of_a_ranked_seed_is_forked_or_drawn_while_its_season_runs() -> None:
    episode = begin([1])
    Episode.objects.filter(pk=episode.pk).update(batch=Batch.objects.create(kind=Batch.Kind.RANKED, closed=True))
    episode = Episode.objects.get(pk=episode.pk)
    assert "ranked" in why_closed(episode)
    with pytest.raises(Sealed, match="ranked"):
        continuing.continue_with(episode, 0, built_in("random"), count=2)
    assert not Episode.objects.filter(parent=episode).exists()


def test_a_tree_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.play.tree.reading.MOST_BRANCHES", 3)
    first = begin([1])
    below = [fork(first, 1, [guess]) for guess in (2, 4, 5, 6)]
    found = tree(below[0])
    assert (len(found.branches), found.left_out) == (3, 2)
    assert {first, below[0], below[-1]} == {branch.episode for branch in found.branches}


# ---------------------------------------------------------------- drawing


def test_every_branch_has_a_line_and_no_lane_is_used_twice() -> None:
    first = begin([1, 9, 2, SECRET])
    for guesses in ([8, SECRET], [9, 5, SECRET], [9, 2, SECRET]):
        fork(first, 1, guesses)
    for direction, place in (("across", 1), ("down", 0)):
        drawn = drawing.draw(tree(first), direction)  # type: ignore[arg-type]
        lanes = [(line.x, line.y)[place] for line in drawn.lines]
        assert len(set(lanes)) == len(lanes) == 4
        assert [tick.number for tick in drawn.ticks] == [0, 1, 2, 3, 4]
        assert max(line.x for line in drawn.lines) < drawn.width
        assert max(line.y for line in drawn.lines) < drawn.height
        assert len(drawn.rings) == 3


# ---------------------------------------------------------------- exports


def rows(episode: Episode, kind: str, gap: float = 0.1, keys: Sequence[str] = ()) -> list[dict[str, Any]]:
    found = tree(episode)
    made = exporting.lines(found, kind, found.chosen(keys), gap, NOBODY, "")
    return [json.loads(json.dumps(row, default=str)) for row in made]


def test_pairs_prefer_the_better_action_in_the_state_where_branches_part() -> None:
    first = begin([1, 9, 8, 7])
    fork(first, 1, [9, SECRET])
    fork(first, 1, [8, SECRET])
    fork(first, 1, [8, 7, 6])
    turn_two, turn_three, after_eight = rows(first, "pairs", 0.0)
    assert (turn_two["turn"], turn_two["seed"], turn_two["env_version"]) == (2, 3, 1)
    returns = [seat.total_reward for seat in first.seats.all()]
    assert turn_two["chosen"] == [{"role": "assistant", "content": box(8)}]
    better, worse = turn_two["chosen_return"], turn_two["rejected_return"]
    assert worse == pytest.approx((returns[0] + 1) / 2)
    assert better > worse
    assert len(turn_two["chosen_episodes"]) == len(turn_two["rejected_episodes"]) == 2
    contents = [message["content"] for message in turn_two["prompt"]]
    assert [message["role"] for message in turn_two["prompt"]] == ["user", "assistant", "user"]
    assert contents[0].endswith("Enter your guess.")
    assert contents[1:] == [box(1), "The secret is higher than 1.\n\nEnter your guess."]
    assert (turn_three["chosen"][0]["content"], turn_three["rejected"][0]["content"]) == (box(SECRET), box(8))
    assert (after_eight["chosen_return"], after_eight["chosen"][0]["content"]) == (1.0, box(SECRET))


def test_a_gap_and_a_choice_of_ends_leave_pairs_out() -> None:
    first = begin([1, 9, 8, 7])
    better, worse = fork(first, 1, [8, SECRET]), fork(first, 1, [2, 4, 5])
    assert len(rows(first, "pairs", 0.0)) == 3
    assert len(rows(first, "pairs", 0.3)) == 1
    assert rows(first, "pairs", 9.0) == []
    (pair,) = rows(first, "pairs", 0.0, [better.pk, worse.pk])
    assert (pair["chosen_episodes"], pair["rejected_episodes"]) == ([better.pk], [worse.pk])


def test_what_has_no_result_gives_no_pair_and_the_same_action_is_no_choice() -> None:
    first = begin([1, 9])
    abandoned = fork(first, 1, [8])
    operations.abandon(abandoned)
    fork(first, 1, [2, SECRET])
    assert rows(first, "pairs") == rows(first, "turns") == []


def test_counterfactual_turns_say_what_came_of_every_action() -> None:
    first = begin([1, 9, 8, 7])
    fork(first, 1, [8, SECRET])
    (turn,) = rows(first, "turns")
    assert [action["action"] for action in turn["actions"]] == [box(9), box(8)]
    assert turn["actions"][1]["returns"] == [1.0]
    assert turn["actions"][1]["agents"] == ["expert"]
    returns = [value for action in turn["actions"] for value in action["returns"]]
    assert turn["mean_return"] == pytest.approx(sum(returns) / 2)


def test_whole_episodes_are_exported_with_their_turns() -> None:
    first = begin([1, 9, 8, 7])
    fork(first, 1, [2])
    (record,) = rows(first, "episodes")
    assert (record["id"], len(record["turns"])) == (first.pk, 4)


# ---------------------------------------------------------------- the page


def test_the_page_draws_the_tree_and_lists_its_ends(client: Client) -> None:
    first = begin([1, 9, 8, 7])
    branch = fork(first, 1, [8, SECRET])
    page = tight(client.get(f"/episodes/{first.pk}/forks/1/"))
    for part in (
        "1 branch",
        "1 of 1 solved",
        f'href="/episodes/{branch.pk}/"',
        "expert, from turn 1, solved, return 1.00",
    ):
        assert part in page
    assert "<b>1 pair</b>" in page
    assert 'value="1" data-player-turn' in page
    assert "every 2s" not in page
    replay = tight(client.get(f"/episodes/{first.pk}/"))
    assert "Forks of this episode" in replay
    assert client.get(f"/episodes/{first.pk}/forks/5/").status_code == 404


def test_the_page_offers_no_command_where_nobody_can_continue(client: Client) -> None:
    over, running = begin([SECRET]), begin([1])
    hidden = "data-command-foot hidden>"
    assert hidden in tight(client.get(f"/episodes/{over.pk}/forks/"))
    assert hidden not in tight(client.get(f"/episodes/{over.pk}/forks/0/"))
    assert hidden not in tight(client.get(f"/episodes/{running.pk}/forks/"))


def test_the_page_knows_what_an_agent_took_for_episodes_that_people_may_see(client: Client) -> None:
    first = begin([SECRET])
    begin([1, SECRET])
    begin([1, 2, SECRET], visibility="private")
    begin([1])  # still runs
    Episode.objects.filter(pk=first.pk).update(tokens_in=90, tokens_out=10)
    random = built_in("random")
    known = expected(GUESS, [random, built_in("expert")], NOBODY, "")
    assert known == {random.pk: Expected(episodes=2, turns=1.5, seconds=None, tokens=100.0)}
    assert '"turns": 1.5' in client.get(f"/episodes/{first.pk}/forks/").content.decode()


def test_a_running_branch_keeps_the_page_moving(client: Client) -> None:
    first = begin([1])
    fork(first, 1, [2])
    headers = {"HX-Request": "true"}
    assert "every 2s" in tight(client.get(f"/episodes/{first.pk}/forks/"))
    part = tight(client.get(f"/episodes/{first.pk}/forks/?part=tree", headers=headers))
    assert part.startswith('<div id="tree" hx-swap-oob="true"')
    assert '<tbody id="ends" hx-swap-oob="true">' in part
    part = tight(client.get(f"/episodes/{first.pk}/forks/?part=export&as=turns&gap=x", headers=headers))
    assert part.startswith('<div id="export-size"')


def test_one_form_lets_oneself_or_agents_go_on(client: Client) -> None:
    episode = begin([1, 9])
    address = f"/episodes/{episode.pk}/forks/new/"
    answer = client.post(address, {"turn": "1", "agent": "you"})
    mine = Episode.objects.get(parent=episode)
    assert (answer["Location"], mine.seats.get().agent.slug) == (mine.get_absolute_url(), "human")
    answer = client.post(address, {"turn": "0", "agent": "other", "other": "random", "count": "4"})
    assert answer["Location"] == f"/episodes/{episode.pk}/forks/0/"
    assert Episode.objects.filter(parent=episode, seats__agent__slug="random").count() == 4
    for sent, status in (
        ({"turn": "9", "agent": "you"}, 404),
        ({"turn": "x", "agent": "random"}, 404),
        ({"turn": "0", "agent": "nobody"}, 400),
        ({"turn": "0", "agent": "random", "count": "65"}, 404),
        ({"turn": "0", "agent": "random", "count": "16"}, 429),
    ):
        assert client.post(address, sent).status_code == status
    assert Episode.objects.filter(parent=episode).count() == 5


@pytest.mark.django_db(transaction=True)  # lines are read in threads of their own
def test_an_export_is_a_file_of_lines(client: Client) -> None:
    first = begin([1, 9, 8, 7])
    fork(first, 1, [8, SECRET])
    answer = client.get(f"/episodes/{first.pk}/forks/export/?as=pairs")
    (line,) = whole_of(answer).splitlines()
    assert json.loads(line)["chosen"][0]["content"] == box(8)
    assert f"pairs-{first.pk}.jsonl" in answer["Content-Disposition"]
