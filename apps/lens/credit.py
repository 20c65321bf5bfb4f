"""What the algorithms would credit each turn of an episode with, beside what the turn was worth.

Everything here is made from the record: the rewards of the episode, of its group (other episodes of the same agent on
the same seed) and of its batch, and the outcomes of the measurements. The browser computes the same for any discount
(`static/js/lens/`), with the formulas of `gem.credit` and `gem.analysis.true_advantage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Episode, EpisodeQuerySet, Turn
from apps.lens.asking import truths_of
from apps.lens.models import Truth
from gem.analysis.true_advantage import Advantage, true_advantage
from gem.credit import compute_advantages, gae, returns_to_go

USUAL_DISCOUNT = 0.9
LEAST_DISCOUNT, MOST_DISCOUNT = 0.5, 1.0
GAE_LAMBDA = 0.95
MOST_EPISODES = 32
"""Episodes of a group or a batch, this one included."""
MOST_TURNS = 2_000
"""Turns of a group or a batch together, besides those of this episode."""
SHORT_CHARS = 24
"""Characters of an action in a sentence."""

Row = list[float]
"""One number for each turn."""


@dataclass(frozen=True, slots=True)
class Other:
    """An episode of the group or the batch."""

    id: str
    rewards: Row


@dataclass(frozen=True, slots=True)
class Lens:
    """What the lens knows about an episode."""

    episode: Episode
    agent: Agent
    turns: list[Turn]
    group: list[Other]
    """Other episodes of the same agent on the same seed."""
    batch: list[Other]
    """Other episodes that ReBN normalizes over."""
    batch_words: str
    truths: list[Truth]

    @property
    def rewards(self) -> Row:
        """The reward of each turn."""
        return [turn.reward for turn in self.turns]

    @property
    def critic(self) -> Truth | None:
        """The measurement whose values PPO gets: one of all turns, of the agent itself if there is one."""
        complete = [truth for truth in self.truths if len(truth.turns.all()) == len(self.turns)]
        return min(complete, key=lambda truth: (truth.agent_id != self.agent.pk, -truth.count), default=None)


def read(episode: Episode, user: Viewer, visitor: str) -> Lens:
    """Read what the lens needs. Other episodes are those that lists, or the page of their job, show to this person."""
    agent = episode.seats.select_related("agent").get(number=episode.scored_seat).agent
    alike = Episode.objects.filter(env_version=episode.env_version, status=Episode.Status.ENDED, taken_over=False)
    alike = alike.exclude(pk=episode.pk)
    by_agent = alike.listed_for(user, visitor).filter(
        env_id=episode.env_id, seed=episode.seed, env_kwargs=episode.env_kwargs, wrappers=episode.wrappers,
        seats__agent=agent, seats__number=episode.scored_seat,
    )  # fmt: skip
    of_seed = _within_limits(by_agent.order_by("-created"))
    of_batch, words = of_seed, "of this agent on this seed"
    if episode.in_job and episode.slot is not None:
        near = alike.visible_to(user, visitor).filter(batch=episode.batch_id, env_id=episode.env_id)
        near = near.filter(slot__range=(episode.slot - MOST_EPISODES, episode.slot + MOST_EPISODES))
        nearest = sorted(_columns(near), key=lambda row: (abs(row[1] - (episode.slot or 0)), row[1]))
        of_batch, words = _first_of(nearest), "of this job in this environment, the nearest in its order"
    found = _rewards({*of_seed, *of_batch})
    return Lens(
        episode,
        agent,
        list(episode.turns.only("episode_id", "number", "action", "observation", "reward", "info", "extra")),
        [Other(key, found.get(key, [])) for key in of_seed],
        [Other(key, found.get(key, [])) for key in of_batch],
        words,
        list(truths_of(episode)),
    )


def _within_limits(episodes: EpisodeQuerySet) -> list[str]:
    return _first_of(_columns(episodes[: MOST_EPISODES - 1]))


def _columns(episodes: EpisodeQuerySet) -> list[tuple[str, int, int]]:
    return [(key, slot or 0, turns) for key, slot, turns in episodes.values_list("pk", "slot", "turn_count")]


def _first_of(rows: Iterable[tuple[str, int, int]]) -> list[str]:
    """The keys of the first episodes that are within the limits."""
    keys: list[str] = []
    total = 0
    for key, _, turns in rows:
        total += turns
        if len(keys) == MOST_EPISODES - 1 or total > MOST_TURNS:
            break
        keys.append(key)
    return keys


def _rewards(keys: Iterable[str]) -> dict[str, Row]:
    rows = Turn.objects.filter(episode__in=list(keys)).order_by("episode_id", "number")
    pairs = rows.values_list("episode_id", "reward")
    return {key: [reward for _, reward in turns] for key, turns in groupby(pairs.iterator(), key=itemgetter(0))}


# ---------------------------------------------------------------- estimates


ROWS = {
    "reward": "Reward",
    "togo": "Return-to-go",
    "reinforce": "REINFORCE",
    "rebn": "ReBN",
    "grpo": "GRPO",
    "ppo": "PPO",
}


def estimates(lens: Lens, discount: float) -> dict[str, Row | None]:
    """The rows of the lens at one discount; None for what cannot be computed."""
    own = lens.rewards
    togo = returns_to_go(own, discount)
    batch = [own, *(other.rewards for other in lens.batch)]
    group = [own, *(other.rewards for other in lens.group)]
    values = values_of(lens, discount)
    return {
        "reward": own,
        "togo": togo,
        "reinforce": compute_advantages("reinforce", [own], discount=discount).advantages[0],
        "rebn": compute_advantages("rebn", batch, discount=discount).advantages[0],
        "grpo": compute_advantages("grpo", group, groups=[0] * len(group)).advantages[0] if lens.group else None,
        "ppo": None if values is None else gae(own, values, discount, GAE_LAMBDA),
    }


def values_of(lens: Lens, discount: float) -> Row | None:
    """The value before each turn, which PPO's critic would estimate: the mean return when the agent chooses anew."""
    if lens.critic is None:
        return None
    return [true_advantage(turn.continuations, discount).before for turn in lens.critic.turns.all()]


def advantages_of(truth: Truth, discount: float) -> dict[int, Advantage]:
    """The true advantage of each turn that was measured, by its number."""
    return {turn.number: true_advantage(turn.continuations, discount) for turn in truth.turns.all()}


def discount_from(text: str) -> float:
    """A discount from an address; the usual one if it is none between 0.5 and 1."""
    try:
        discount = float(text)
    except ValueError:
        return USUAL_DISCOUNT
    return discount if LEAST_DISCOUNT <= discount <= MOST_DISCOUNT else USUAL_DISCOUNT


# ---------------------------------------------------------------- as data


def data_of(lens: Lens) -> dict[str, Any]:
    """The lens for the script of its page."""
    return {
        "rewards": lens.rewards,
        "names": [short(turn.action) for turn in lens.turns],
        "group": [other.rewards for other in lens.group],
        "batch": [other.rewards for other in lens.batch],
        "lambda": GAE_LAMBDA,
        "critic": lens.critic.pk if lens.critic else None,
        "truths": [truth_data(truth) for truth in lens.truths],
    }


def truth_data(truth: Truth) -> dict[str, Any]:
    """A measurement for the script of its page."""
    turns = truth.turns.all()
    return {
        "id": truth.pk,
        "agent": truth.agent.name,
        "count": truth.count,
        "open": truth.is_open,
        "first": truth.first,
        "last": truth.last,
        "turns": {turn.number: [turn.taken, turn.anew] for turn in turns},
    }


def short(action: str) -> str:
    """An action in a few characters, for sentences: the content of its last box, if it has one."""
    inside = action.rpartition("\\boxed{")[2].partition("}")[0] if "\\boxed{" in action else action
    text = " ".join(inside.split())
    return text if len(text) <= SHORT_CHARS else text[: SHORT_CHARS - 1] + "…"


def table(lens: Lens, discount: float) -> tuple[list[str], list[list[Any]]]:
    """The numbers of all rows at one discount: the names of the columns, and a row for each turn."""
    rows = estimates(lens, discount)
    shown = [name for name in ROWS if rows[name] is not None]
    names = ["turn", *shown]
    columns: list[Sequence[Any]] = [rows[name] or [] for name in shown]
    for truth in lens.truths:
        found = advantages_of(truth, discount)
        label = f"true_{truth.agent.slug}_{truth.count}"
        names += [label, f"{label}_half_width"]
        numbers = range(1, len(lens.turns) + 1)
        columns.append([found[number].mean if number in found else None for number in numbers])
        columns.append([found[number].half_width if number in found else None for number in numbers])
    cells = [[number, *values] for number, values in enumerate(zip(*columns, strict=True), start=1)]
    return names, cells
