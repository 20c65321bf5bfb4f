"""Alarms of a training: signs in its metrics that it collapsed or learns nothing.

    for alarm in find_alarms(RunFolder(path).metrics()):
        print(alarm.text, alarm.advice)

An alarm needs several updates in a row, and a return or share solved has to fall clearly farther than batches differ
by chance, so that noise alone raises none. docs/training.md has the table of alarms; docs/collapsed-runs.md explains
the curves. This module needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from gem.training.study.noise import Curve

AlarmName = Literal["invalid", "entropy", "kl", "flat", "return", "success"]
COLLAPSE: tuple[AlarmName, ...] = ("invalid", "return", "success")
"""The alarms that mean that the policy lost what it could do: what `collapse` stands for in `stop_on`."""
StopOn = Literal["collapse", "invalid", "entropy", "kl", "flat", "return", "success"]

IN_A_ROW = 3
"""Updates in a row that raise an alarm, and as many others that end it: one unusual batch does neither."""
FLAT_IN_A_ROW = 5
"""The same for batches without a signal, which small batches of a hard task have now and then."""
INVALID_SHARE = 0.5
"""Share of turns that cannot be parsed: healthy runs of the recipes stay below 0.03, so half is far outside."""
INVALID_AT_FIRST = 0.25
"""A policy that begins above this share still has to learn the format, and gets `FIRST_UPDATES` to do so."""
INVALID_ALL = 0.99
"""Nothing can be learned from such a batch, so it counts from the first update on."""
INVALID_GAIN = 0.1
"""A policy whose share has fallen by this much since its start is learning the format, however high the share is."""
FIRST_UPDATES = 10
ENTROPY_SHARE = 0.1
"""Share of the entropy at the start: a healthy run is there as well, but its share solved has risen by then."""
KL_LIMIT = 0.1
"""Nats per token: healthy updates have 0.001 to 0.03; from 0.1 on the clipped ratio no longer holds the policy."""
FLAT_SHARE = 0.95
"""Share of turns with an advantage of 0: the rest is too little for a direction."""
SOLVED_SHARE = 0.9
"""Above this share solved, low entropy and batches without a signal mean that little is left to learn."""
SUCCESS_DROP = 0.05
"""Smallest fall of the share solved that is called one, however many episodes a batch has."""
ERRORS = 4.0
"""Standard errors of the difference by which a mean has to fall. With 200 looks at noise, fewer than 1 run in 100."""


class AlarmKind(NamedTuple):
    """The description of one alarm, for people."""

    title: str
    metric: str
    """The metric that shows it, as in `metrics.jsonl`."""
    text: str
    """Its meaning, with places for `value` and `start`, also in percent."""
    advice: str


KINDS: dict[AlarmName, AlarmKind] = {
    "invalid": AlarmKind(
        "Invalid actions",
        "invalid",
        "{value_percent:.0f} % of the turns have an action that cannot be parsed ({start_percent:.0f} % at the "
        "start): the policy has lost the format of its actions, or never had it.",
        "Go back to an earlier checkpoint with a lower learning_rate; also try kl_coefficient=0.01. If the share was "
        "high from the start, check the prompt, the wrappers and max_tokens.",
    ),
    "entropy": AlarmKind(
        "Entropy collapsed",
        "entropy",
        "The entropy has fallen to {value:.3g} nats ({start:.3g} at the start), and the results are no "
        "better than at the start: the policy always acts in the same way, so it tries nothing new and cannot learn "
        "more.",
        "Begin again, or fork an earlier checkpoint, with a larger entropy_bonus (0.002 to 0.01), a lower "
        "learning_rate or more episodes.",
    ),
    "kl": AlarmKind(
        "Steps too large",
        "kl",
        "The policy moves by {value:.2g} nats per token in one update; a healthy update moves it by less than 0.03.",
        "Divide learning_rate by 10, or use fewer epochs; target_kl=0.05 ends such an update early.",
    ),
    "flat": AlarmKind(
        "No signal",
        "zero_advantage_share",
        "{value_percent:.0f} % of the turns have an advantage of 0: the episodes of a group, or of the whole batch, "
        "all have the same return, so there is nothing to learn from.",
        "Begin with an easier environment (curriculum), use a larger batch or group, or a reward with partial credit.",
    ),
    "return": AlarmKind(
        "Return below the start",
        "return",
        "The mean return is {value:.3g}, clearly below the {start:.3g} of the start: the policy got worse.",
        "Fork an earlier checkpoint with a lower learning_rate, and look at the episodes of the update where it fell.",
    ),
    "success": AlarmKind(
        "Fewer solved than at the start",
        "success",
        "{value_percent:.1f} % of the episodes are solved, clearly fewer than the {start_percent:.1f} % of the "
        "start. If the return did not fall, the policy collects partial credit.",
        "Fork an earlier checkpoint with a lower learning_rate. If the return rises, look at three episodes: the "
        "reward may pay for something else (wrapper reward_success).",
    ),
}
NAMES: tuple[AlarmName, ...] = get_args(AlarmName)


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm of a training: its latest spell, with the numbers that raised it."""

    name: AlarmName
    began: int
    """The update at which the spell began."""
    ended: int | None
    """The first update after the spell; None while it holds."""
    value: float
    """The metric in the last update of the spell; of `return` and `success`, its mean over the last updates."""
    start: float
    """The mean of the metric over the first updates; of `return` and `success`, over those of the same stage; of
    `invalid`, the value of the first update, because a policy can lose the format within the next few."""

    @property
    def holds(self) -> bool:
        """Whether it still holds in the last update."""
        return self.ended is None

    @property
    def title(self) -> str:
        """A few words that name it."""
        return KINDS[self.name].title

    @property
    def metric(self) -> str:
        """The metric that shows it."""
        return KINDS[self.name].metric

    @property
    def text(self) -> str:
        """A sentence that says what it means."""
        return KINDS[self.name].text.format(
            value=self.value, start=self.start, value_percent=100 * self.value, start_percent=100 * self.start
        )

    @property
    def advice(self) -> str:
        """Things to try against it."""
        return KINDS[self.name].advice

    @property
    def line(self) -> str:
        """One line of a log: when it began and what it means, or that it is over."""
        if self.ended is not None:
            return f"alarm over since update {self.ended:,}: {self.title.lower()}"
        return f"alarm since update {self.began:,}: {self.title.lower()}. {self.text}"


def find_alarms(rows: Iterable[Mapping[str, float | None]]) -> tuple[Alarm, ...]:
    """The alarms of a training, those that hold first, then the others by when they began.

    Args:
        rows: the metrics of its updates so far, in order, under their present names. A missing one raises no alarm.
    """
    watch = Watch()
    for row in rows:
        watch.add(row)
    return watch.alarms


def changed_alarms(before: Iterable[Alarm], now: Iterable[Alarm]) -> list[Alarm]:
    """The alarms that hold now and did not before, and those that are over now and were not before."""
    held = {alarm.name for alarm in before if alarm.holds}
    return [alarm for alarm in now if alarm.holds != (alarm.name in held)]


def alarms_to_stop_for(alarms: Iterable[Alarm], stop_on: Iterable[str]) -> list[Alarm]:
    """Those among the alarms that hold and for which a training stops by itself.

    Args:
        stop_on: names of alarms, or `collapse`.
    """
    names = {name for word in stop_on for name in (COLLAPSE if word == "collapse" else (word,))}
    return [alarm for alarm in alarms if alarm.holds and alarm.name in names]


def stop_reason(alarms: Iterable[Alarm], stop_on: Iterable[str], update: int) -> str:
    """Why a training stops by itself after `update`; empty if it continues."""
    stopping = alarms_to_stop_for(alarms, stop_on)
    if not stopping:
        return ""
    reasons = [f"{alarm.title.lower()} since update {alarm.began:,}" for alarm in stopping]
    return f"The training stopped by itself after update {update:,}: {', '.join(reasons)}."


class Watch:
    """Looks at the metrics of a training, update by update."""

    def __init__(self) -> None:
        self._update = 0
        self._stage: float = 0
        self._curves = {kind.metric: Curve() for kind in KINDS.values()}
        self._returns, self._successes = Curve(), Curve()
        """Return and share solved in the present stage of the curriculum: those of easier stages differ."""
        self._pool_scores = Curve()
        """With self-play, the score against the pool."""
        self._episodes = 0.0
        self._spells = {name: _Spell(FLAT_IN_A_ROW if name == "flat" else IN_A_ROW) for name in NAMES}

    def add(self, row: Mapping[str, float | None]) -> None:
        """Take in the metrics of the next update."""
        self._update = int(row["update"] or 0)
        if (stage := row.get("stage") or 0) != self._stage:
            self._stage, self._returns, self._successes = stage, Curve(), Curve()
        for metric, curve in self._curves.items():
            curve.add(row.get(metric))
        is_self_play = row.get("pool_games") is not None  # its opponents get better as it does, so neither rises
        self._returns.add(None if is_self_play else row.get("return"))
        episodes = row.get("episodes") or self._episodes
        self._successes.add(None if is_self_play else row.get("success"), of=episodes - self._episodes)
        self._pool_scores.add(row.get("pool_score"), of=row.get("pool_games") or 1.0)
        self._episodes = episodes
        for name, check in _CHECKS.items():
            self._spells[name].add(self._update, *check(self))

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """See `find_alarms`."""
        found = [
            Alarm(name, spell.began, spell.ended, spell.value, spell.start)
            for name, spell in self._spells.items()
            if spell.is_raised
        ]
        return tuple(sorted(found, key=lambda alarm: (not alarm.holds, alarm.began)))

    # ------------------------------------------------------------ what each alarm looks at

    def invalid(self) -> _Look:
        """Most turns cannot be parsed, and that is neither how the policy began nor getting better."""
        curve = self._curves["invalid"]
        value, start = curve.last, curve.first
        is_learning = start >= INVALID_AT_FIRST and (curve.count <= FIRST_UPDATES or value <= start - INVALID_GAIN)
        return _Look(value >= INVALID_ALL or (value >= INVALID_SHARE and not is_learning), value, start)

    def entropy(self) -> _Look:
        """Hardly any entropy is left, and the policy did not get better for it."""
        curve = self._curves["entropy"]
        is_low = curve.count > IN_A_ROW and curve.last < ENTROPY_SHARE * curve.start
        return _Look(is_low and not self._is_solved and not self._is_better, curve.last, curve.start)

    def kl(self) -> _Look:
        """The updates are too large."""
        curve = self._curves["kl"]
        return _Look(curve.last >= KL_LIMIT, curve.last, curve.start)

    def flat(self) -> _Look:
        """The batches have no signal, although not nearly everything is solved."""
        curve = self._curves["zero_advantage_share"]
        return _Look(curve.last >= FLAT_SHARE and not self._is_solved, curve.last, curve.start)

    def returns(self) -> _Look:
        """The mean return of the stage fell clearly below its start."""
        curve = self._returns
        return _Look(curve.count >= FIRST_UPDATES and curve.fall > ERRORS * curve.error, curve.recent, curve.start)

    def successes(self) -> _Look:
        """The share solved of the stage fell clearly below its start."""
        curve = self._successes
        is_lower = curve.fall > max(ERRORS * curve.error, SUCCESS_DROP)
        return _Look(curve.count >= FIRST_UPDATES and is_lower, curve.recent, curve.start)

    @property
    def _is_solved(self) -> bool:
        return self._successes.recent >= SOLVED_SHARE

    @property
    def _is_better(self) -> bool:
        """Whether clearly more is solved than at the start; if nothing ever was, whether the return is higher.

        With self-play, whether the score against the pool is higher, although the pool gets better as well.
        """
        curve = self._successes if self._curves["success"].highest > 0 else self._returns
        curve = self._pool_scores if self._pool_scores.count else curve
        return -curve.fall > ERRORS * curve.error


class _Look(NamedTuple):
    """The result of one look at the metrics of an alarm."""

    is_bad: bool
    value: float
    start: float


_CHECKS: dict[AlarmName, Callable[[Watch], _Look]] = {
    "invalid": Watch.invalid,
    "entropy": Watch.entropy,
    "kl": Watch.kl,
    "flat": Watch.flat,
    "return": Watch.returns,
    "success": Watch.successes,
}


class _Spell:
    """The latest spell of an alarm: it is raised, and it ends, after `patience` updates in a row."""

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._others: list[tuple[int, float]] = []
        """The updates in a row that contradict the present state, with their values."""
        self.began, self.value, self.start = 0, 0.0, 0.0
        self.ended: int | None = 0

    @property
    def is_raised(self) -> bool:
        """Whether there was a spell."""
        return self.began > 0

    def add(self, update: int, is_bad: bool, value: float, start: float) -> None:
        """Take in the next look."""
        holds = self.ended is None
        self._others = [*self._others, (update, value)] if is_bad != holds else []
        if holds and is_bad:
            self.value, self.start = value, start
        if len(self._others) < self._patience:
            return
        if holds:
            self.ended = self._others[0][0]
        else:
            self.began, self.ended, self.value, self.start = self._others[0][0], None, value, start
        self._others = []


def alarm_from(data: Mapping[str, Any]) -> Alarm:
    """The alarm that `dataclasses.asdict` turned into plain data."""
    return Alarm(data["name"], data["began"], data["ended"], data["value"], data["start"])
