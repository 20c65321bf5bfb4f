"""Results of a study's runs: a small JSON file for each, so that no training is repeated that somebody has made."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from gem.studies.digests import digest, measured_digests
from gem.studies.study import Run, Study, compared, trials, untrained
from gem.training.run_folder import write_atomically

FOLDER = Path(__file__).parent / "results"
"""The results that come with the engine, in a folder for each study."""


class RunResult(BaseModel):
    """What one training reached."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: str
    """Of what was trained (`gem.studies.digests.digest`); results of another specification do not count."""
    tuned: Any = None
    episodes: int
    """Held-out episodes of each evaluation."""
    solved: int
    mean_return: float
    turns: float
    """Mean number of turns of an episode."""
    turns_when_solved: float | None
    """Mean number of turns of the solved episodes; None if none is solved."""
    cpu_seconds: float
    """Of the training, in one thread."""
    tool_calls: float = 0.0
    """Mean number of tool calls of an episode."""
    curve: tuple[float, ...]
    """The share of solved episodes during the training, at 40 equally long parts of it at most."""
    elsewhere: dict[str, int] = {}
    """Solved held-out episodes in the other environments of the study."""
    measured: dict[str, str] = {}
    """What each of these depends on (`gem.studies.digests.measured_digests`), so that none is measured twice."""
    commit: str = ""

    @property
    def success(self) -> float:
        """The share of the held-out episodes that is solved."""
        return self.solved / self.episodes

    @property
    def area(self) -> float:
        """The mean share solved over the whole training: the area under the curve."""
        return sum(self.curve) / len(self.curve) if self.curve else 0.0

    @property
    def end(self) -> float:
        """The mean share solved over the last tenth of the training."""
        last = self.curve[-max(1, len(self.curve) // 10) :]
        return sum(last) / len(last) if last else 0.0


class Results(ABC):
    """The results of a study, wherever they are kept."""

    def __init__(self, study: Study) -> None:
        self.study = study

    @abstractmethod
    def of(self, run: Run) -> RunResult | None:
        """The result of a run; None if it was not made, or was made with another specification."""

    def chosen(self) -> dict[tuple[str, str], Any]:
        """The best value of the tuned setting by environment and variant, where every value was tried.

        A value is judged by the share solved over the last tenth of its training; of equal ones the first is taken.
        """
        ends: dict[tuple[str, str], list[tuple[float, Any]]] = {}
        for run in trials(self.study):
            result = self.of(run)
            if result is not None:
                ends.setdefault((run.environment, run.variant), []).append((result.end, run.tuned))
        values = sum(map(len, self.study.tuning.values()))
        return {place: max(tried, key=itemgetter(0))[1] for place, tried in ends.items() if len(tried) == values}

    def planned(self) -> Iterator[Run]:
        """Every run that is known now: what needs no training, trials, then those whose tuned value was chosen."""
        yield from untrained(self.study)
        yield from trials(self.study)
        yield from compared(self.study, self.chosen())

    def finished(self) -> Mapping[str, Mapping[str, Mapping[int, RunResult]]]:
        """The compared runs that are there: by environment, by variant, by seed.

        In each environment only the seeds that every variant has are counted, so that none is ahead by its luck.
        """
        table: dict[str, dict[str, dict[int, RunResult]]] = {}
        for run in compared(self.study, self.chosen()):
            result = self.of(run)
            if result is not None:
                table.setdefault(run.environment, {}).setdefault(run.variant, {})[run.seed] = result
        return {
            environment: {variant: {seed: own[seed] for seed in sorted(common)} for variant, own in by_variant.items()}
            for environment, by_variant in table.items()
            if len(by_variant) == len(self.study.variants)
            and (common := set.intersection(*(set(own) for own in by_variant.values())))
        }

    @property
    def total(self) -> int:
        """How many runs the whole study has, with trials and with those that need no training."""
        return self.study.total

    @property
    def done(self) -> int:
        """How many of them have a result."""
        return sum(self.of(run) is not None for run in self.planned())

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all trainings that are there, trials included."""
        return sum(result.cpu_seconds for run in self.planned() if (result := self.of(run)) is not None)

    def untrained(self) -> dict[str, RunResult]:
        """What the first policies solve before any training, by their names."""
        found = {run.variant: self.of(run) for run in untrained(self.study)}
        return {policy: result for policy, result in found.items() if result is not None}


class ReadOnce(Results):
    """The results as they are when they are first asked for: each is read once."""

    def __init__(self, results: Results) -> None:
        super().__init__(results.study)
        self._read = functools.cache(results.of)

    def of(self, run: Run) -> RunResult | None:
        """See `Results.of`."""
        return self._read(run)


class FolderResults(Results):
    """The results of a study in a folder: a small JSON file for each run.

    Args:
        folder: by default that of a study that comes with the engine.
    """

    def __init__(self, study: Study, folder: Path | None = None) -> None:
        super().__init__(study)
        self.folder = folder or FOLDER / study.name
        self._digests: dict[Run, str] = {}
        self._measured = measured_digests(study)

    def of(self, run: Run) -> RunResult | None:
        """See `Results.of`. One that was not measured in all environments, as they are now, does not count."""
        result = self.earlier(run)
        if result is None or run.is_trial or self._measured.items() <= result.measured.items():
            return result
        return None

    def earlier(self, run: Run) -> RunResult | None:
        """The result of an equal training, wherever it was measured."""
        try:
            result = RunResult.model_validate_json((self.folder / run.file).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        if run not in self._digests:
            self._digests[run] = digest(self.study, run)
        return result if result.digest == self._digests[run] else None

    def write(self, run: Run, result: RunResult) -> None:
        """Keep the result of a run."""
        path = self.folder / run.file
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, file_text(result))


def file_text(result: RunResult) -> str:
    """A result as the content of its file."""
    return result.model_dump_json(indent=1) + "\n"
