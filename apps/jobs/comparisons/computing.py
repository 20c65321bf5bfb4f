"""Comparisons that many people look at: computed once from the episodes, and shared by requests.

What is shared is the same for everybody. What only some may see, such as prompts, and which episodes administrators
have hidden, is looked up for each request.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from apps.accounts.models import Viewer
from apps.jobs import pages
from apps.jobs.books.reading import spec_of
from apps.jobs.comparisons.episodes import episodes_of, hidden_among
from apps.jobs.comparisons.sides import Side
from apps.jobs.results.cached import shared_of_all
from apps.jobs.results.environments import environments_of
from gem.evaluation.compare import Comparison, PairOfRuns, compare
from gem.evaluation.comparison.pairs import SeedPair
from gem.evaluation.comparison.plain import plain
from gem.evaluation.comparison.runs import Measure, Run
from gem.evaluation.comparison.settings import Caution, Setting, all_settings, cautions
from gem.evaluation.faults import Faults

MAX_EPISODES = 20_000
"""Episodes of all sides together that a page compares, which takes about half a second of computing. `gemweb compare`
has no such limit."""


class Square(NamedTuple):
    """How often which of two runs has solved a seed, where each has one episode for each seed."""

    both: int
    only_first: int
    only_second: int
    neither: int

    def in_words(self, first: str, second: str) -> str:
        """Return the counts as a sentence, for those who do not see the square."""
        return (
            f"Both {self.both}, only {first} {self.only_first}, only {second} {self.only_second}, "
            f"neither {self.neither}"
        )


@dataclass(frozen=True, slots=True)
class Computed:
    """A comparison as it is shared: without its seeds, which are read for one pair at a time."""

    comparison: Comparison
    squares: Sequence[Square | None]
    """One for each pair; None where there are several tries or seats, or returns are compared."""
    environments: Sequence[Mapping[str, Mapping[str, Any]]]
    """`Run.environments` of each side."""


class Reading:
    """The comparison of some sides in one measure, read from the episodes at most once for each request."""

    def __init__(self, sides: Sequence[Side], measure: Measure) -> None:
        self.sides, self.measure = sides, measure
        chosen = [[side.name, side.is_agent, sorted(map(list, side.env_ids.items()))] for side in sides]
        self._key = f"{measure}-{zlib.crc32(json.dumps(chosen).encode()):x}"

    @cached_property
    def episodes(self) -> int:
        """The finished episodes of all sides."""
        return sum(side.tally.done for side in self.sides)

    @cached_property
    def computed(self) -> Computed:
        """The comparison without its seeds."""
        jobs = [job for side in self.sides for job in side.jobs]
        return shared_of_all(jobs, f"comparison-{self._key}", self._compute)

    def seeds(self, number: int) -> list[SeedPair]:
        """The seeds of one pair."""
        pair = self.computed.comparison.pairs[number]
        jobs = [job for place in (pair.first, pair.second) for job in self.sides[place].jobs]
        packed = shared_of_all(jobs, f"comparison-seeds-{self._key}-{number}", lambda: self._pack(number))
        return [SeedPair(*row) for row in json.loads(zlib.decompress(packed))]

    @cached_property
    def _whole(self) -> Comparison:
        return compare(self._runs, self.measure)

    @cached_property
    def _runs(self) -> list[Run]:
        return [
            Run(
                side.name,
                [one for job in side.jobs for one in episodes_of(job, side.env_ids.get(job.pk))],
                environments=_environments(side),
                faults=_faults(side),
            )
            for side in self.sides
        ]

    def _compute(self) -> Computed:
        whole = self._whole
        squares = [_square(pair.pairing.pairs) if _is_single(whole, pair) else None for pair in whole.pairs]
        pairs = [replace(pair, pairing=pair.pairing._replace(pairs=[])) for pair in whole.pairs]
        seeds = [caution for caution in whole.cautions if caution.kind == "seeds"]
        comparison = replace(whole, pairs=pairs, cautions=seeds, settings=[])
        return Computed(comparison, squares, [run.environments for run in self._runs])

    def _pack(self, number: int) -> bytes:
        return zlib.compress(json.dumps(self._whole.pairs[number].pairing.pairs).encode())


def settings_of(reading: Reading, viewer: Viewer) -> tuple[list[Setting], list[Caution]]:
    """The settings of all sides that this person may see, and what has to be known before one believes the result."""
    runs = [
        Run(side.name, (), _settings(side, viewer), environments, side.remarks)
        for side, environments in zip(reading.sides, reading.computed.environments, strict=True)
    ]
    found = all_settings(runs)
    own = cautions(runs, [row for row in found if row.differs])
    remarks = [caution for caution in own if caution.kind == "remark"]
    others = [caution for caution in own if caution.kind != "remark"]
    return found, [*remarks, *reading.computed.comparison.cautions, *others]


def document(reading: Reading, viewer: Viewer) -> dict[str, Any]:
    """The comparison as plain data, as `gemweb compare --json` prints it, and the jobs of each side."""
    settings, found = settings_of(reading, viewer)
    pairs = [
        replace(pair, pairing=pair.pairing._replace(pairs=_without_hidden(reading.seeds(number))))
        for number, pair in enumerate(reading.computed.comparison.pairs)
    ]
    differing = [row for row in settings if row.differs]
    comparison = replace(reading.computed.comparison, pairs=pairs, cautions=found, settings=differing)
    jobs = [[job.pk for job in side.jobs] for side in reading.sides]
    return {**plain(comparison, [side.name for side in reading.sides]), "jobs": jobs}


def _without_hidden(rows: Sequence[SeedPair]) -> list[SeedPair]:
    """The seeds, without the names of episodes that administrators have hidden."""
    hidden = hidden_among([name for row in rows for name in (*row.first_episodes, *row.second_episodes)])
    return [
        row._replace(
            first_episodes=tuple(name for name in row.first_episodes if name not in hidden),
            second_episodes=tuple(name for name in row.second_episodes if name not in hidden),
        )
        for row in rows
    ]


def _faults(side: Side) -> Faults:
    tally = side.tally
    return Faults(tally.actions, tally.unreadable, tally.forbidden)


def _settings(side: Side, viewer: Viewer) -> dict[str, Any]:
    """The request and the set-up of a side; where its jobs differ, the values of all."""
    found: dict[str, list[Any]] = {}
    for job in side.jobs:
        is_open = pages.may_see_set_up(job, viewer)
        set_up = (job.set_up or {}) if is_open else {}
        for name, value in {**spec_of(job, priced=is_open), "set_up": set_up}.items():
            values = found.setdefault(name, [])
            if value not in values:
                values.append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _environments(side: Side) -> dict[str, dict[str, Any]]:
    return {
        env_id: settings
        for job in side.jobs
        for env_id, settings in environments_of(job, side.env_ids.get(job.pk)).items()
    }


def _is_single(comparison: Comparison, pair: PairOfRuns) -> bool:
    return comparison.measure == "success" and pair.pairing.single


def _square(pairs: Sequence[SeedPair]) -> Square:
    counts = dict.fromkeys(((1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)), 0)
    for row in pairs:
        counts[row.first, row.second] += 1
    return Square(*counts.values())
