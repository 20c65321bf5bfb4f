"""Plays an environment without thinking, in several ways: what would a training learn instead of the task?"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Protocol

from gem import registry
from gem.agents import Decision, Request, has_expert, make_agent
from gem.agents.agent import Agent
from gem.errors import GemError
from gem.evaluation.intervals import Interval, estimate_share, wilson
from gem.grading.parsing import extract_last_boxed_answer, extract_last_tagged_answer
from gem.learnability.report import Exploit, Played, Report, Training
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout

SEEDS, TRIES = 60, 4
COMMONEST = 5
"""So many of the commonest random actions are tried as answers that are always given."""
ALL_ALIKE = (
    "Its seed does nothing: every seed begins alike, and the same actions have the same outcomes at all of them."
)
PLAIN_ANSWERS = ("0", "1", "2", "-1", "yes", "no", "True", "False", "A", "B")
"""Answers that many kinds of questions take."""
AT_A_TIME = 16
"""So many episodes are played at a time."""
SAMPLES = 3
"""So many random episodes are played at all seeds, to see whether these differ."""
EXACT = 1e-9
LONG = 2000
"""Characters of a long answer, to see whether length is paid for."""
SHARE_OF_PROMPTS = 0.8
"""If so many of the prompts have the answer in them, and few have that of another seed, it is given away."""


class Stopped(Exception):
    """The probe was stopped before its end."""


class Fixed:
    """An agent that decides without reading the task."""

    def __init__(self, name: str, choose: Callable[[Request], str]) -> None:
        self.name = name
        self._choose = choose

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`."""
        return [Decision(self._choose(request)) for request in requests]


def probe(
    env_id: str,
    *,
    seeds: int = SEEDS,
    tries: int = TRIES,
    expert: Agent | None = None,
    training: Training | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Report:
    """Probe a registered environment.

    Args:
        seeds: the number of seeds, from 0, that each way to play is tried on.
        tries: random episodes at each of them.
        expert: an agent that plays well; by default that of gemweb, if it knows the environment.
        training: what a short training reached, if there was one (`train_briefly`).
        stopping: asked after each episode whether to stop.

    Raises:
        Stopped: `stopping` said so.
        UnknownEnvironment: if it is not registered.
        EnvironmentFailure: if no episode can be played to its end.
    """
    play = partial(_play, env_id, stopping)
    random_agent = make_agent("random")
    groups = [play(random_agent, seeds, repeat=number) for number in range(tries)]
    records = [record for group in groups for record in group]
    starts = [_first_text(record) for record in groups[0]]
    if expert is None and has_expert(env_id):
        expert = make_agent("expert")
    expert_records = [] if expert is None else play(expert, seeds)
    by_seed = [[group[place].total_reward for group in groups] for place in range(seeds)]
    return Report(
        env_id=env_id,
        seeds=seeds,
        tries=tries,
        random=_summarized("random", records),
        expert=_summarized("expert", expert_records) if expert_records else None,
        exploits=list(_exploits(play, records, seeds)),
        problems=list(_problems(play, groups, expert_records)),
        signal=statistics.fmean(float(max(returns) - min(returns) > EXACT) for returns in by_seed),
        distinct_starts=len(set(starts)),
        training=training,
        notes=list(_notes(play, env_id, groups[0])),
    )


class Play(Protocol):
    """Plays the environment with an agent on so many seeds; the episodes in the order of the seeds."""

    def __call__(self, agent: Agent, seeds: int, *, repeat: int = 0) -> list[EpisodeRecord]: ...


def _play(
    env_id: str, stopping: Callable[[], bool], agent: Agent, seeds: int, *, repeat: int = 0
) -> list[EpisodeRecord]:
    requests = [EpisodeRequest(seed, env_id, seed, repeat=repeat) for seed in range(seeds)]
    records = []
    is_remote = registry.spec(env_id).id.startswith(registry.REMOTE)
    for record in rollout(agent, requests, num_envs=1 if is_remote else AT_A_TIME):  # servers limit their sessions
        records.append(record)
        if stopping():
            raise Stopped(f"The probe of {env_id} was stopped.")
    return sorted(records, key=lambda record: record.index)


def _summarized(name: str, records: Sequence[EpisodeRecord]) -> Played:
    returns = tuple(record.total_reward for record in records)
    says_success = any(record.turns and "success" in record.turns[-1].info for record in records)
    return Played(name, _share_solved(records) if says_success else None, statistics.fmean(returns), returns)


def _share_solved(records: Sequence[EpisodeRecord]) -> Interval:
    """The share of solved episodes with its interval over seeds: all tries at a seed are one observation."""
    by_seed: dict[int, list[bool]] = {}
    for record in records:
        by_seed.setdefault(record.identity.seed, []).append(bool(record.success))
    found = estimate_share((len(tries), sum(tries)) for tries in by_seed.values())
    return found.interval or wilson(found.mean * found.seeds, found.seeds)


def _notes(play: Play, env_id: str, records: Sequence[EpisodeRecord]) -> Iterator[str]:
    if registry.spec(env_id).id.startswith(registry.REMOTE):
        yield "It is on a server. Random actions are drawn from what it says of its actions, and from its texts."
    elif registry.spec(env_id).replay != "exact":
        yield "Its episodes repeat only with recorded outputs of tools."
    if any(record.turn_count > 1 for record in records) and are_all_alike(play, records):
        yield "Every seed is the same problem, so held-out seeds show nothing of other problems."


# ------------------------------------------------------------------ rewards without the task


def _exploits(play: Play, records: Sequence[EpisodeRecord], seeds: int) -> Iterator[Exploit]:
    """Actions that do not depend on the task, and what they reach."""
    for what, choose in _thoughtless(records):
        agent = Fixed(what, choose)
        try:
            yield Exploit(what, _summarized(what, play(agent, seeds)))
        except GemError:  # an action that the environment cannot take at all is no way to its reward
            continue


def _thoughtless(records: Sequence[EpisodeRecord]) -> Iterator[tuple[str, Callable[[Request], str]]]:
    yield "an empty answer", lambda _: ""
    yield "an empty box", lambda _: "\\boxed{}"
    yield "a copy of what was read", lambda request: request.observation
    yield "a copy of what was read, in a box", lambda request: f"\\boxed{{{request.observation}}}"
    yield f"a long answer of {LONG:,} letters", lambda _: "a" * LONG
    actions = Counter(turn.action for record in records for turn in record.turns)
    commonest = [action for action, _ in islice(actions.most_common(), COMMONEST)]
    for action in dict.fromkeys([*commonest, *(f"\\boxed{{{word}}}" for word in PLAIN_ANSWERS)]):
        shown = action if len(action) <= 40 else f"{action[:39]}…"
        yield f"always the answer {shown}", partial(_always, action)


def _always(action: str, _request: Request) -> str:
    return action


# ------------------------------------------------------------------ what is broken


def _problems(
    play: Play, groups: Sequence[Sequence[EpisodeRecord]], expert_records: Sequence[EpisodeRecord]
) -> Iterator[str]:
    """What is wrong with the environment, as sentences."""
    failures = [record.failure for group in groups for record in group if record.failure]
    if failures:
        yield f"In {len(failures)} of {sum(map(len, groups))} random episodes it failed: {failures[0]}"
    if sentence := _of_noise(play, groups[0]):
        yield sentence
    if sentence := _of_ignored_actions(groups, expert_records):
        yield sentence
    is_puzzle = any(record.turn_count > 1 for record in groups[0])  # one position to solve may be the task
    if not is_puzzle and are_all_alike(play, groups[0]):
        yield ALL_ALIKE
    if sentence := _of_given_answers(expert_records):
        yield sentence


def _of_noise(play: Play, records: Sequence[EpisodeRecord]) -> str:
    """Whether the same actions at the same seed bring other rewards."""
    actions = {record.index: [turn.action for turn in record.turns] for record in records}
    again = play(Fixed("again", partial(_next_of, actions)), len(records))
    pairs = list(zip(records, again, strict=True))
    other = [
        first
        for first, second in pairs
        if [turn.reward for turn in first.turns] != [turn.reward for turn in second.turns][: len(first.turns)]
    ]
    if not other:
        return ""
    return (
        f"Its reward is noisy: at {len(other)} of {len(pairs)} seeds, such as {other[0].identity.seed}, the same "
        "actions brought other rewards when they were played again."
    )


def _next_of(actions: dict[int, list[str]], request: Request) -> str:
    """The recorded action of this turn; an empty one after the last."""
    own = actions.get(request.episode, [])
    return own[request.turn - 1] if request.turn <= len(own) else ""


def _of_ignored_actions(groups: Sequence[Sequence[EpisodeRecord]], expert_records: Sequence[EpisodeRecord]) -> str:
    """Whether the return is the same whatever is done, at each seed at which different things were done.

    Returns of 0 everywhere may only mean that random play never reaches anything.
    """
    every = [*groups, *([expert_records] if expert_records else [])]
    compared = [
        [group[place] for group in every]
        for place in range(len(groups[0]))
        if len({tuple(turn.action for turn in group[place].turns) for group in every}) > 1
    ]
    by_seed = [{round(record.total_reward, 9) for record in records} for records in compared]
    if not compared or any(len(returns) > 1 for returns in by_seed):
        return ""
    values = set[float]().union(*by_seed)
    if len(values) > 1:
        return (
            "Its reward ignores the action: at each seed, all tries have the same return, and it differs between seeds."
        )
    if max(values) > 0:
        return f"Its reward ignores the action: every episode has the return {max(values):g}, whatever is done."
    return ""


def are_all_alike(play: Play, records: Sequence[EpisodeRecord]) -> bool:
    """Whether all seeds are the same: they begin alike, and the actions of some seeds have the same outcomes at all."""
    if len({_first_text(record) for record in records}) > 1:
        return False
    for sample in records[:SAMPLES]:
        actions = {seed: [turn.action for turn in sample.turns] for seed in range(len(records))}
        again = play(Fixed("again", partial(_next_of, actions)), len(records))
        if len({tuple(_texts(record)[: sample.turn_count]) for record in again}) > 1:
            return False
    return True


def _first_text(record: EpisodeRecord) -> str:
    return f"{record.first_observation}{record.first_info.get('suffix', '')}"


def _texts(record: EpisodeRecord) -> list[tuple[str, str, float]]:
    return [(turn.observation, str(turn.info.get("suffix", "")), turn.reward) for turn in record.turns]


def _of_given_answers(expert_records: Sequence[EpisodeRecord]) -> str:
    """Whether the prompts of one-turn problems have the answers in them, more often than those of other seeds."""
    solved = [record for record in expert_records if record.success and record.turn_count == 1]
    if len(solved) < 2 or len(solved) < len(expert_records) / 2:
        return ""
    answers = [_content(record.turns[0].action) for record in solved]
    prompts = [record.first_observation for record in solved]
    own = statistics.fmean(float(_says(prompt, answer)) for prompt, answer in zip(prompts, answers, strict=True))
    others = statistics.fmean(
        float(_says(prompt, answer)) for prompt, answer in zip(prompts, [*answers[1:], answers[0]], strict=True)
    )
    if own < SHARE_OF_PROMPTS or others > own / 4:
        return ""
    return f"The answer stands in the prompt: in {own:.0%} of the prompts, and that of another seed in {others:.0%}."


def _content(action: str) -> str:
    answer = extract_last_boxed_answer(action) or extract_last_tagged_answer(action)
    return (action if answer is None else answer).strip()


def _says(prompt: str, answer: str) -> bool:
    """Whether the answer stands in the prompt as a word of its own."""
    return bool(answer) and re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", prompt) is not None
