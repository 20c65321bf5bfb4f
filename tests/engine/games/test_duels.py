"""The rules of the games for two, their experts, and that nobody learns what is hidden from them."""

import json
import re
from itertools import product
from typing import Any

import pytest

import gem
from gem.agents import Request, make_agent
from gem.agents.experts.duels import kuhn_poker, negotiation
from gem.agents.experts.duels.connect_four import MAX_NODES, choose
from gem.envs.duels.connect_four import ConnectFour
from gem.envs.duels.negotiation import TOTAL, Negotiation, item_counts, value_pairs, worth
from gem.rng import SplitMix64, choice, randbelow
from gem.rollout import EpisodeRequest, rollout
from gem.seats import SPECTATOR

RANDOM, EXPERT = make_agent("random"), make_agent("expert")


def play(env_id: str, actions: str, **arguments: Any) -> tuple[gem.Env, str, dict[str, Any]]:
    """The episode of seed 0 after these actions, each put into a box."""
    env = gem.make(env_id, **arguments)
    observation, info = env.reset(seed=0)
    for action in actions.split("|"):
        observation, _, _, _, info = env.step(f"\\boxed{{{action}}}")
    return env, observation, info


def rewards(info: dict[str, Any]) -> list[float]:
    return [own["reward"] for own in info["seats"]]


def matches(agent: Any, opponent: Any, env_id: str, episodes: int) -> list[Any]:
    slots = [EpisodeRequest(i, env_id, i // 2, seat=i % 2) for i in range(episodes)]
    return list(rollout(agent, slots, opponent=opponent))


# ------------------------------------------------------------------ TicTacToe and ConnectFour


@pytest.mark.parametrize(
    ("env_id", "actions", "said", "expected"),
    [
        ("duel:TicTacToe-v0", "1|4|2|5|3", "X wins", [1.0, -1.0]),
        ("duel:TicTacToe-v0", "1|3|2|5|4|7", "O wins", [-1.0, 1.0]),
        ("duel:TicTacToe-v0", "1|5|9|2|8|7|3|6|4", "draw", [0.0, 0.0]),
        ("duel:ConnectFour-v0", "1|2|1|2|1|2|1", "Red wins", [1.0, -1.0]),
        ("duel:ConnectFour-v0", "1|2|2|3|3|4|3|4|4|6|4", "Red wins", [1.0, -1.0]),
        ("duel:ConnectFour-v0", "7|1|7|2|6|3|6|4", "Yellow wins", [-1.0, 1.0]),
    ],
)
def test_lines_win_and_full_boards_are_drawn(env_id: str, actions: str, said: str, expected: list[float]) -> None:
    env, observation, info = play(env_id, actions)
    assert said in observation
    assert rewards(info) == expected
    assert env.to_act == ()
    assert info["success"] is (expected[0] > 0)
    marked = [cell for row in env.view(SPECTATOR)["rows"] for cell in row if cell["tone"] == "hit"]
    assert len(marked) == (0 if "draw" in said else 3 if "Tic" in env_id else 4)


def test_a_full_column_is_against_the_rules() -> None:
    env, observation, info = play("duel:ConnectFour-v0", "4|4|4|4|4|4|4")
    assert "full" in observation
    assert (info["error"], info["seats"][0]["error"], env.to_act) == ("rule", "rule", (0,))
    assert "error" not in info["seats"][1]


def test_the_tic_tac_toe_expert_never_loses() -> None:
    records = matches(EXPERT, RANDOM, "duel:TicTacToe-v0", 400)
    assert min(record.total_reward for record in records) == 0
    assert sum(bool(record.success) for record in records) > 350
    assert all(record.total_reward == 0 for record in matches(EXPERT, EXPERT, "duel:TicTacToe-v0", 10))


def lost_from(env: gem.Env, seat: int) -> int:
    """How many ways of the other side to play on beat the expert in `seat`."""
    if not env.to_act:
        return int(seat not in env.winners and bool(env.winners))
    if env.to_act[0] == seat:
        actions = [EXPERT.act([Request(env, "", {}, 1, seat)])[0].action]
    else:
        actions = [f"\\boxed{{{cell + 1}}}" for cell in env.empty_cells()]
    lost = 0
    for action in actions:
        other = env.spawn(same_state=True)
        other.step(action)
        lost += lost_from(other, seat)
    return lost


@pytest.mark.parametrize("seat", [0, 1])
def test_no_way_to_play_beats_the_tic_tac_toe_expert(seat: int) -> None:
    env = gem.make("duel:TicTacToe-v0")
    env.reset(seed=0)
    assert lost_from(env, seat) == 0


def test_the_connect_four_expert_wins_when_it_can_and_blocks_when_it_must() -> None:
    for actions, column in (("1|2|1|2|1|3", 1), ("4|1|4|1|4", 4), ("1|2|7|3|7|4|6", 5)):
        env, _, _ = play("duel:ConnectFour-v0", actions)
        assert EXPERT.act([Request(env, "", {}, 1)])[0].action == f"\\boxed{{{column}}}"


def test_the_connect_four_expert_beats_random_play_and_stops_on_positions() -> None:
    records = matches(EXPERT, RANDOM, "duel:ConnectFour-v0", 30)
    assert all(record.success for record in records)
    column, value, depth = choose(0, 0)
    assert (column, value) == (3, value)
    assert 3 <= depth < 15
    choose.cache_clear()
    assert choose(0, 0) == (column, value, depth)
    assert MAX_NODES < 10_000


def test_the_connect_four_search_agrees_with_brute_force_on_late_positions() -> None:
    compared = 0
    for seed in range(60):
        env = gem.make("duel:ConnectFour-v0")
        env.reset(seed=seed)
        while env.to_act and sum(map(len, env.columns)) < 34:
            env.step(env.sample_random_action())
        if env.to_act:
            decision = EXPERT.act([Request(env, "", {}, 1)])[0].action
            values = {f"\\boxed{{{column + 1}}}": brute_force(env, column) for column in env.open_columns()}
            assert values[decision] == max(values.values())
            compared += 1
    assert compared > 2


def brute_force(env: ConnectFour, column: int) -> int:
    """What a column is worth to the side that chooses it: 1, 0 or -1."""
    seat = env.to_act[0]
    other = env.spawn(same_state=True)
    other.step(f"\\boxed{{{column + 1}}}")
    if other.over:
        return int(seat in other.winners)
    return -max(brute_force(other, answer) for answer in other.open_columns())


# ------------------------------------------------------------------ Kuhn poker


def value(first: Any, second: Any) -> float:
    """What the first player wins on average, in chips, if both bet or call with these chances."""
    total = 0.0
    for mine, theirs in product(range(3), repeat=2):
        if mine == theirs:
            continue
        sign = 1 if mine > theirs else -1
        bet, answer = first(mine, ()), second(theirs, ("bet",))
        after_bet = answer * 2 * sign + (1 - answer)
        raised, call = second(theirs, ("check",)), first(mine, ("check", "bet"))
        after_check = (1 - raised) * sign + raised * (call * 2 * sign - (1 - call))
        total += (bet * after_bet + (1 - bet) * after_check) / 6
    return total


def pure() -> list[Any]:
    """Every strategy without chance, as functions of card and history."""
    found = []
    for bits in product((0.0, 1.0), repeat=6):
        table = {(card, place): bits[2 * card + place] for card in range(3) for place in (0, 1)}
        found.append(lambda card, history, table=table: table[card, int("bet" in history)])
    return found


def test_the_kuhn_expert_reaches_the_value_of_the_game_and_cannot_be_exploited() -> None:
    equilibrium = kuhn_poker.aggressive_probability
    assert value(equilibrium, equilibrium) == pytest.approx(-1 / 18)
    assert max(value(other, equilibrium) for other in pure()) == pytest.approx(-1 / 18)
    assert min(value(equilibrium, other) for other in pure()) == pytest.approx(-1 / 18)


def test_kuhn_poker_pays_half_the_chips() -> None:
    for actions, chips in (("check|check", 1), ("bet|fold", 1), ("bet|call", 2), ("check|bet|fold", 1)):
        env, _, info = play("duel:KuhnPoker-v0", actions)
        assert [abs(reward) for reward in rewards(info)] == [chips / 2, chips / 2]
        winner = env.winners[0]
        if "fold" in actions:
            assert winner == (1 if actions == "check|bet|fold" else 0)
        else:
            assert env.cards[winner] > env.cards[1 - winner]


def test_the_deal_follows_from_the_seed_and_is_even() -> None:
    env = gem.make("duel:KuhnPoker-v0")
    dealt = []
    for seed in range(600):
        env.reset(seed=seed)
        dealt.append(tuple(env.cards))
    assert {dealt.count(cards) for cards in set(dealt)} <= set(range(70, 135))
    assert len(set(dealt)) == 6


# ------------------------------------------------------------------ what is hidden


def seen_by(env: gem.Env, seat: int, answers: list[tuple[str, dict[str, Any]]]) -> str:
    """Everything that `seat` has been shown: the public texts, its own ones, its picture."""
    told = [
        [observation, {key: text for key, text in info.items() if key != "seats"}, info["seats"][seat : seat + 1]]
        for observation, info in answers
    ]
    return json.dumps([told if seat >= 0 else [one[:2] for one in told], env.view(seat)])


def with_hidden_changed(env: gem.Env, seat: int, other_secret: Any) -> gem.Env:
    """The same episode, in which the other seat holds something else."""
    changed = env.spawn()
    changed.set_state({**env.get_state(), **other_secret(env, 1 - seat)})
    return changed


def other_cards(env: gem.Env, seat: int) -> dict[str, Any]:
    cards = list(env.cards)
    cards[seat] = 3 - sum(cards)
    return {"cards": cards}


def other_values(env: gem.Env, seat: int) -> dict[str, Any]:
    values = [list(one) for one in env.values]
    values[seat] = values[seat][::-1] if values[seat] != values[seat][::-1] else [9, 9, 9]
    return {"values": values}


@pytest.mark.parametrize(
    ("env_id", "other_secret"), [("duel:KuhnPoker-v0", other_cards), ("duel:Negotiation-v0", other_values)]
)
@pytest.mark.parametrize("seat", [0, 1])
def test_what_the_other_seat_holds_changes_nothing_that_a_seat_is_shown(
    env_id: str, other_secret: Any, seat: int
) -> None:
    compared = 0
    for seed in range(30):
        env = gem.make(env_id)
        env.reset(seed=seed)
        changed = with_hidden_changed(env, seat, other_secret)
        answers: list[Any] = []
        for _ in range(20):
            assert seen_by(env, seat, []) == seen_by(changed, seat, [])
            assert env.view(SPECTATOR) == changed.view(SPECTATOR)
            if env.to_act == (seat,):
                assert EXPERT.act([Request(env, "", {}, 1)]) == EXPERT.act([Request(changed, "", {}, 1)])
            action = env.sample_random_action()
            steps = env.step(action), changed.step(action)
            if not env.to_act:
                break
            answers = [[(step[0], step[4])] for step in steps]
            assert seen_by(env, seat, answers[0]) == seen_by(changed, seat, answers[1])
            assert seen_by(env, SPECTATOR, answers[0]) == seen_by(changed, SPECTATOR, answers[1])
            compared += 1
    assert compared > 10


def test_cards_are_named_to_nobody_else_before_they_are_compared() -> None:
    words = ("jack", "queen", "king")
    for seed in range(30):
        env = gem.make("duel:KuhnPoker-v0")
        observation, info = env.reset(seed=seed)
        answers = [(observation, info)]
        while env.to_act:
            for seat in (0, 1):
                rules, known = env._instructions(), seen_by(env, seat, answers)
                without_rules = known.replace(json.dumps(rules)[1:-1], "")
                assert words[env.cards[1 - seat]] not in without_rules
                assert words[env.cards[seat]] in without_rules
            observation, _, _, _, info = env.step(env.sample_random_action())
            answers.append((observation, info))
        if not env.is_showdown:
            assert not any(word in observation for word in words)


def test_a_sealed_choice_is_shown_to_nobody() -> None:
    env = gem.make("duel:PrisonersDilemma-v0")
    shown = []
    for action in ("silent", "betray"):
        env.reset(seed=0)
        assert env.to_act == (0, 1)
        observation, _, _, _, info = env.step(f"\\boxed{{{action}}}")
        assert env.to_act == (1,)
        shown.append([observation, info, [env.view(seat) for seat in (0, 1, SPECTATOR)]])
    assert shown[0] == shown[1]


# ------------------------------------------------------------------ negotiation and the dilemma


def test_every_problem_of_the_negotiation_is_as_described() -> None:
    env = gem.make("duel:Negotiation-v0")
    for seed in range(200):
        env.reset(seed=seed)
        assert 5 <= sum(env.counts) <= 7
        assert all(worth(env.counts, values) == TOTAL for values in env.values)
        assert all(sum(pair) for pair in zip(*env.values, strict=True))
    assert len(item_counts()) > 5
    assert all(len(value_pairs(counts)) > 1 for counts in item_counts())


def test_an_accepted_proposal_is_paid_by_the_own_values() -> None:
    env = gem.make("duel:Negotiation-v0")
    env.reset(seed=3)
    share = [1, 0, env.counts[2]]
    observation, *_ = env.step(f"\\boxed{{propose {' '.join(map(str, share))}: Is that fair?}}")
    assert 'and says: "Is that fair?"' in observation
    remainder = [count - number for count, number in zip(env.counts, share, strict=True)]
    assert list(env.offer(1)) == remainder
    *_, info = env.step("\\boxed{accept}")
    points = [worth(share, env.values[0]), worth(remainder, env.values[1])]
    assert rewards(info) == [point / TOTAL for point in points]
    assert [own["success"] for own in info["seats"]] == [point >= 5 for point in points]
    assert f"worth {points[1]} points to you" in info["seats"][1]["observation"]
    assert "points" not in observation


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        ("accept", "has proposed nothing"),
        ("propose 9 9 9", "more than there is"),
        ("propose 1", "three numbers"),
        ("propose", "three numbers"),
        ("say", "says nothing"),
    ],
)
def test_the_negotiation_answers_what_cannot_be_done(actions: str, said: str) -> None:
    _, observation, info = play("duel:Negotiation-v0", actions)
    assert said in observation
    assert info["error"] == "rule"


def test_a_proposal_is_read_as_when_its_version_was_recorded() -> None:
    """The expression that first read them takes quadratic time, and means exactly this."""
    first = re.compile(
        r"\\boxed{\s*(propose|accept|say)\b\s*(?:((?<=propose )\s*\d{1,2}(?:[\s,]+\d{1,2})*)\s*:?)?\s*([^{}]*)}",
        re.IGNORECASE | re.ASCII,
    )
    words = (*" \n\t12,:x{}", "propose", "Propose ", "say", "accept", "  ", "12", "123")
    rng = SplitMix64(1)
    for _ in range(3000):
        text = "\\boxed{" + "".join(choice(rng, words) for _ in range(1 + randbelow(rng, 10))) + "}"
        assert Negotiation.pattern.findall(text) == first.findall(text), text
    _, observation, _ = play("duel:Negotiation-v0", "propose  1 1 1")
    assert "does not name books, hats and balls as three numbers" in observation


def test_talks_without_a_deal_end_after_the_last_round() -> None:
    env, observation, info = play("duel:Negotiation-v0", "say Hello|say Hello|say Bye|say Bye", rounds=2)
    assert "without a deal" in observation
    assert (rewards(info), env.to_act) == ([0.0, 0.0], ())


def test_negotiators_agree_and_gain_more_than_random_ones() -> None:
    records = matches(EXPERT, EXPERT, "duel:Negotiation-v0", 100)
    assert sum(record.total_rewards != [0.0, 0.0] for record in records) > 95
    against_random = [record.total_reward for record in matches(EXPERT, RANDOM, "duel:Negotiation-v0", 100)]
    assert sum(against_random) / 100 > 0.8


def test_what_the_other_asks_for_is_taken_to_be_what_it_values() -> None:
    likely = negotiation.likely_values((2, 2, 2), ((0, 2, 0),))
    assert likely == [(0, 5, 0)]


def test_the_dilemma_pays_the_mean_of_its_points() -> None:
    _, observation, info = play("duel:PrisonersDilemma-v0", "silent|betray|silent|silent", rounds=2)
    assert "Round 2" in observation
    assert rewards(info) == [3 / 2 / 5, 8 / 2 / 5]
    assert [own["success"] for own in info["seats"]] == [False, True]
    records = matches(EXPERT, EXPERT, "duel:PrisonersDilemma-v0", 2)
    assert [record.total_rewards for record in records] == [[0.6, 0.6], [0.6, 0.6]]
