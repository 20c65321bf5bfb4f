"""Wrappers around environments with several seats: what is public, what each seat reads, and what each seat earns."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import gem
from gem.agents import make_agent
from gem.core import Env, Step
from gem.errors import InvalidArgument
from gem.replay import verify
from gem.rollout import EpisodeRequest, rollout
from gem.seats import SPECTATOR, success
from gem.views.plain_text import text_of
from gem.wrappers import WRAPPER_FACTORY, get_wrapper_fns, wrap
from gem.wrappers.wrapper_factory import TOOL_WRAPPERS

IDS = [spec.id for spec in gem.registry.specs() if spec.seats > 1]
SEEDS = range(3)
MARK = "My secret plan."
"""Part of every action, and never public."""

Paid = Callable[[float, bool, bool], float]
REWARDS: dict[str, tuple[dict[str, Any], Paid]] = {
    "scale_reward": ({"factor": 100, "offset": -0.5}, lambda reward, acted, _: 100 * reward - 0.5 * acted),
    "clip_reward": ({"low": -0.25, "high": 0.125}, lambda reward, _, __: min(max(reward, -0.25), 0.125)),
    "reward_success": (
        {"partial": 0.5},
        lambda reward, _, solved: 1.0 if solved else reward / 2 if reward > 0 else reward,
    ),
}
"""The arguments of a wrapper, and what it pays for a reward, whether the seat has acted, and whether it succeeded."""
TEXTS: dict[str, dict[str, Any]] = {
    "compact": {"answer": True, "instructions": True},
    "concat": {},
    "concat_with_action": {},
    "concat_chat": {},
    "concat_chat_on_reset": {},
}
"""Wrappers after which every seat reads something else."""
OTHERS: dict[str, dict[str, Any]] = {
    "normalize_action": {},
    "time_limit": {"max_turns": 3},
    "episode_tracking": {},
}
REFUSED = {*TOOL_WRAPPERS, "opponent", "record"}
"""Tools need one seat, an opponent leaves one, and a recorder changes nothing."""
WRAPPERS = {name: arguments for name, (arguments, _) in REWARDS.items()} | TEXTS | OTHERS


class Tags:
    """A chat template of its simplest form."""

    def apply_chat_template(self, conversation: list[dict[str, str]], **_: object) -> str:
        return "".join(f"<{message['role']}>{message['content']}" for message in conversation)


class Turn(NamedTuple):
    """A turn of the same episode without and with a wrapper."""

    actor: int | None
    """The seat that acted; None for the reset."""
    plain_env: Env
    plain: Step
    wrapped: Step


def with_wrapper(seated_id: str, name: str, **arguments: Any) -> Env:
    (function,) = get_wrapper_fns([name], tokenizer=Tags())
    return function(gem.make(seated_id), **(arguments or WRAPPERS[name]))


def turns(seated_id: str, env: Env, seed: int) -> Iterator[Turn]:
    """Play a random episode in `env` and without its wrapper."""
    plain_env = gem.make(seated_id)
    (text, info), (wrapped_text, wrapped_info) = plain_env.reset(seed=seed), env.reset(seed=seed)
    yield Turn(None, plain_env, (text, 0.0, False, False, info), (wrapped_text, 0.0, False, False, wrapped_info))
    while env.to_act:
        actor = env.to_act[0]
        action = f"<think>Hm.</think> {MARK} {plain_env.sample_random_action()}"
        yield Turn(actor, plain_env, plain_env.step(action), env.step(action))


def test_every_wrapper_is_tried() -> None:
    assert {*WRAPPERS, *REFUSED} == set(WRAPPER_FACTORY)
    assert len(IDS) >= 5


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("seated_id", IDS)
def test_the_public_text_is_made_of_what_spectators_see(seated_id: str, name: str) -> None:
    env = with_wrapper(seated_id, name)
    for seed in SEEDS:
        for turn in turns(seated_id, env, seed):
            text, *_, info = turn.wrapped
            board = text_of(turn.plain_env.view(SPECTATOR))
            rest = text.replace(turn.plain[0], "").replace(board, "")
            assert re.sub(r"That was turn \d+ of \d+: the turn limit ends the episode\.", "", rest).strip() == ""
            public = {key: value for key, value in info.items() if key != "seats"}
            assert MARK not in str((text, public))
            assert public.get("suffix", "") in ("", turn.plain[-1]["suffix"])


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("seated_id", IDS)
def test_every_seat_reads_the_transformed_text(seated_id: str, name: str) -> None:
    env = with_wrapper(seated_id, name)
    for seed in SEEDS:
        acted: set[int] = set()
        for turn in turns(seated_id, env, seed):
            acted |= set() if turn.actor is None else {turn.actor}
            for seat, plain_info in enumerate(turn.plain[-1]["seats"]):
                own = turn.wrapped[-1]["seats"][seat]
                assert plain_info["observation"] in own["observation"]
                assert own["observation"] != plain_info["observation"]
                if name != "compact":
                    assert (MARK in own["observation"]) == (seat in acted and name != "concat")


@pytest.mark.parametrize("seated_id", IDS)
def test_a_compact_observation_is_the_board_of_the_reader(seated_id: str) -> None:
    env = wrap(gem.make(seated_id), [{"name": "compact"}])
    for seed in SEEDS:
        for turn in turns(seated_id, env, seed):
            info = turn.wrapped[-1]
            assert turn.wrapped[0] == text_of(turn.plain_env.view(SPECTATOR))
            boards = [text_of(turn.plain_env.view(seat)) for seat in range(env.seats)]
            assert [seat_info["observation"] for seat_info in info["seats"]] == boards
            assert not any("suffix" in known for known in (info, *info["seats"]))


def test_only_the_seat_that_acted_knows_how_its_action_was_read() -> None:
    """In the prisoner's dilemma the choice of the first seat is sealed until the other has chosen."""
    env = wrap(gem.make("duel:PrisonersDilemma-v0"), [{"name": "normalize_action"}, {"name": "concat_with_action"}])
    env.reset(seed=1)
    observation, *_, info = env.step("<answer>betray</answer>")
    first, second = info.pop("seats")
    assert first["parsed_action"] == "\\boxed{betray}"
    assert "\n\\boxed{betray}\n" in first["observation"]
    assert not any("\\boxed{betray}\n" in str(hidden) for hidden in (observation, info))
    assert "parsed_action" not in second
    assert "parsed_action" not in info


@pytest.mark.parametrize("name", REWARDS)
@pytest.mark.parametrize("seated_id", IDS)
def test_every_seat_earns_the_transformed_reward(seated_id: str, name: str) -> None:
    _, paid = REWARDS[name]
    env = with_wrapper(seated_id, name)
    changed: set[int] = set()
    given: set[float] = set()
    for seed in range(20):
        _, *rest = turns(seated_id, env, seed)
        for turn in rest:
            over = turn.plain[2] or turn.plain[3]
            for seat, plain_info in enumerate(turn.plain[-1]["seats"]):
                reward = turn.wrapped[-1]["seats"][seat]["reward"]
                solved = over and success(seat, turn.plain[-1])
                assert reward == paid(plain_info["reward"], seat == turn.actor, solved)
                changed |= {seat} if reward != plain_info["reward"] else set()
                given.add(plain_info["reward"])
                if seat == turn.actor:
                    assert turn.wrapped[1] == reward
    if name != "reward_success" or not given <= {-1.0, 0.0, 1.0}:
        assert changed == set(range(env.seats))


@pytest.mark.parametrize("name", REWARDS)
def test_the_record_has_the_rewards_and_can_be_verified(name: str) -> None:
    arguments, paid = REWARDS[name]
    described = [{"name": name, **arguments}]
    requests = [EpisodeRequest(seed, "duel:KuhnPoker-v0", seed, wrappers=described) for seed in SEEDS]
    for record in rollout(make_agent("random"), requests):
        plain = gem.make("duel:KuhnPoker-v0")
        plain.reset(seed=record.identity.seed)
        expected = [0.0, 0.0]
        for turn in record.turns:
            *_, over, _, info = plain.step(turn.action)
            for seat in (0, 1):
                solved = over and success(seat, info)
                expected[seat] += paid(info["seats"][seat]["reward"], seat == turn.seat, solved)
        assert record.total_rewards == expected
        assert record.total_reward == expected[0]
        assert verify(record.identity, record.turns, terminated=True) is None


@pytest.mark.parametrize("name", sorted({*REWARDS, *TEXTS, "normalize_action"}))
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("seated_id", IDS)
def test_a_wrapper_does_the_same_inside_and_outside_of_an_opponent(seated_id: str, seat: int, name: str) -> None:
    opponent = {"name": "opponent", "agent": "random", "seat": seat}
    (function,) = get_wrapper_fns([name], tokenizer=Tags())
    inside = wrap(function(gem.make(seated_id), **WRAPPERS[name]), [opponent])
    outside = function(wrap(gem.make(seated_id), [opponent]), **WRAPPERS[name])
    for seed in range(4):
        assert inside.reset(seed=seed) == outside.reset(seed=seed)
        while inside.to_act:
            action = inside.sample_random_action().replace("\\boxed{", "\\\\boxed {")
            assert outside.sample_random_action().replace("\\boxed{", "\\\\boxed {") == action
            if name != "normalize_action":
                action = action.replace("\\\\boxed {", "\\boxed{")
            one, other = inside.step(action), outside.step(action)
            assert one == other
            assert ("parsed_action" in one[-1]) == (name == "normalize_action")
        assert outside.to_act == ()


@pytest.mark.parametrize(("low", "high"), [(0.25, 1.0), (-1.0, -0.25)])
def test_nobody_is_paid_for_the_turns_of_others(low: float, high: float) -> None:
    clip = {"name": "clip_reward", "low": low, "high": high}
    with pytest.raises(InvalidArgument, match="around opponent"):
        wrap(gem.make("duel:TicTacToe-v0"), [clip])
    env = wrap(gem.make("duel:TicTacToe-v0", opponent="random"), [clip])
    env.reset(seed=1)
    assert low <= env.step(env.sample_random_action())[1] <= high


def test_the_state_says_who_has_acted() -> None:
    described = [{"name": "compact", "answer": True}]
    env, other = (wrap(gem.make("duel:TicTacToe-v0"), described) for _ in range(2))
    env.reset(seed=1)
    env.step("\\boxed{5}")
    other.set_state(env.get_state())
    assert other.step("\\boxed{1}") == env.step("\\boxed{1}")
    assert "takes" in env.step("\\boxed{2}")[-1]["seats"][1]["observation"]
