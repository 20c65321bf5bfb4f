"""The base of environments over a dataset: the seed selects a row, one answer is judged, and the episode is over.

Seed s selects row s modulo the number of rows. It selects the same problem as long as the data have the same hash,
which is in `data_hash` and in the first info. Seeds 0 to n - 1 cover all n rows once.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from gem.core import Env, Info, State, Step, reading_state
from gem.datasets import Row, load
from gem.datasets.loading import Source
from gem.envs.problems import hints
from gem.envs.sampling import sample_before_reset
from gem.errors import EpisodeOver, InvalidArgument, InvalidData
from gem.rng import SplitMix64
from gem.validation.values import check_action
from gem.views import TextView, View

QUESTION_COLUMNS = ("problem", "question", "prompt", "Question")
ANSWER_COLUMNS = ("answer", "answers", "golden_answers", "Answer")
CORRECT_ANSWER = "A correct answer: "
"""The words before a reference in an observation."""


class Judgement(NamedTuple):
    """The verdict on an answer."""

    reward: float
    message: str
    """The observation: what the agent reads about its answer."""
    fault: Literal["format", ""] = ""
    extra_info: Info = {}
    """Entries to add to the info."""


class ProblemEnv(Env):
    """A dataset with one turn for each problem. A subclass judges answers in `_judge`.

    Args:
        dataset: whatever `gem.datasets.load` takes: an environment's id, rows, a file, `hub:owner/name`, `sample:name`.
        split: the split, for a dataset of the hub that has several.
        question_key: the column with the question; by default the first of problem, question, prompt, Question.
        answer_key: the column with the answer; by default the first of answer, answers, golden_answers, Answer.
        seed: the seed of the first problem.

    Raises:
        DataUnavailable: if the data are not available.
        InvalidArgument: if a column does not exist.
    """

    pattern: ClassVar[re.Pattern[str]]
    """What an answer has to contain. The page asks a person for confirmation before it sends anything else. Only the
    first opening mark is tried, so that no text takes long: if it has no end, later ones have none either."""
    return_bounds = (0.0, 1.0)
    prompt: ClassVar[str] = ""
    """What an agent reads after the problem."""

    def __init__(
        self,
        dataset: Source,
        split: str = "",
        question_key: str = "",
        answer_key: str = "",
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        self.dataset = load(dataset, split=split)
        columns = self.dataset.columns
        self.question_key = find_column(question_key, QUESTION_COLUMNS, columns, "question_key")
        self.answer_key = find_column(answer_key, ANSWER_COLUMNS, columns, "answer_key")
        self.max_turns = 1
        self.data_hash = self.dataset.sha256
        self.over = True
        self.problem: Row = {}
        self.outcome = ""
        """The observation after the answer; empty before the answer."""
        self._num_random_actions = 0

    def reset(self, seed: int | None = None, idx: int | None = None) -> tuple[str, Info]:
        """See `Env.reset`; `idx` is the number of a row, which is the seed of its episode.

        Raises:
            InvalidArgument: if there is no such row, or both a seed and a row are given.
        """
        if idx is None:
            return super().reset(seed)
        if seed is not None:
            raise InvalidArgument("A seed already selects a row: give seed or idx, not both.")
        if isinstance(idx, bool) or idx not in range(len(self.dataset)):
            raise InvalidArgument(f"idx is a row from 0 to {len(self.dataset) - 1:,}, not {idx!r:.40}.")
        return super().reset(idx)

    @property
    def row(self) -> int:
        """The row number of the current problem in the data."""
        assert self.seed is not None
        return self.seed % len(self.dataset)

    @property
    def question(self) -> str:
        """The text of the current problem; empty before the first one."""
        return str(self.problem[self.question_key]).strip() if self.problem else ""

    def _start(self) -> tuple[str, Info]:
        self._load_problem()
        self.over, self.outcome = False, ""
        data = {"source": self.dataset.source, "sha256": self.dataset.sha256, "row": self.row}
        return self.question, {"suffix": self.prompt, "data": data}

    def _load_problem(self) -> None:
        """Load the row that the seed selects."""
        self.problem, self._num_random_actions = self.dataset[self.row], 0
        if any(_is_missing(self.problem.get(key)) for key in (self.question_key, self.answer_key)):
            raise InvalidData(f"Row {self.row} of {self.dataset.source} lacks its question or its answer.")

    @abstractmethod
    def _judge(self, action: str) -> Judgement:
        """Judge the action; a reward of 1 means that the problem is solved."""

    @abstractmethod
    def _random_action(self, rng: SplitMix64) -> str:
        """A random answer in the right format."""

    def step(self, action: str) -> Step:
        """See `Env.step`. The answer is judged, and the episode ends."""
        if self.over:
            raise EpisodeOver("There is no episode under way; call reset() to begin one.")
        check_action(action)
        judgement = self._judge(action)
        self.over, self.outcome = True, judgement.message
        info: Info = {"suffix": "", "success": judgement.reward >= 1, **judgement.extra_info}
        if judgement.fault:
            info["error"] = judgement.fault
        return judgement.message, judgement.reward, True, False, info

    def get_state(self) -> State:
        """See `Env.get_state`. The generator need not be stored: only the seed of the next episode is drawn from it."""
        return {"seed": self.seed, "over": self.over, "outcome": self.outcome}

    def set_state(self, state: State) -> None:
        """See `Env.set_state`."""
        with reading_state(self):
            self.seed, self._next_seed = state["seed"], None
            self.rng.seed(self.seed)
            self.over, self.outcome = state["over"], state["outcome"]
        if self.seed is not None:
            self._load_problem()

    def sample_random_action(self) -> str:
        """See `Env.sample_random_action`."""
        self._num_random_actions += 1
        if self.seed is None:
            return sample_before_reset(self, self._num_random_actions)
        if self.over:
            raise EpisodeOver("The episode is over; call reset() to begin another one.")
        keys = (self.draw_key, self.seed) if self.draw_key else (self.seed,)
        return self._random_action(SplitMix64(*keys, self._num_random_actions))

    def skip_random_actions(self, number: int) -> None:
        """See `Env.skip_random_actions`."""
        if type(self).sample_random_action is ProblemEnv.sample_random_action:
            self._num_random_actions += number  # each draw is made from it
        else:
            super().skip_random_actions(number)

    def reference_action(self) -> str | None:
        """The action with the reference answer of the current problem; None if the data have none that can be sent."""
        reference = self.problem.get(self.answer_key)
        answer = reference[0] if isinstance(reference, list | tuple) and reference else reference
        return f"\\boxed{{{str(answer).strip()}}}" if isinstance(answer, str | int | float) else None

    def next_step(self, number: int, typed: str = "") -> str | None:
        """The step `number` (from 0) of a way to the answer, for people; never the answer. None if nothing is known.

        The steps are the sentences of a worked solution, where the data have one, and then the form of the answer.
        """
        answer = answer_text(self.problem.get(self.answer_key, ""))
        return hints.next_step(self.problem, answer, number) if answer else None

    def view(self, seat: int = 0) -> View:
        """See `Env.view`. The view is the problem and, after the answer, the outcome."""
        return TextView(kind="text", name=self._name(), text=self._picture(), facts=self._facts())

    def _name(self) -> str:
        return f"A problem of {self.spec.family}" if self.spec else "A problem"

    def _picture(self) -> str:
        return f"{self.question}\n\n{self.outcome}" if self.outcome else self.question

    def _facts(self) -> list[tuple[str, str]]:
        row_fact = [("Row", f"{self.row:,} of {len(self.dataset):,}")] if self.seed is not None else []
        return [*row_fact, ("From", self.dataset.source)]


def find_column(name: str, candidates: Sequence[str], columns: Sequence[str], argument: str) -> str:
    """The column `name` or, if that is empty, the first of the candidates that exists.

    Raises:
        InvalidArgument: if there is no such column.
    """
    if name and name not in columns:
        raise InvalidArgument(f"There is no column {name!r} for {argument}; there are {', '.join(columns)}.")
    chosen = name or next((name for name in candidates if name in columns), "")
    if not chosen:
        raise InvalidArgument(f"Say with {argument} which of the columns {', '.join(columns)} it is.")
    return chosen


def _is_missing(value: object) -> bool:
    """Whether a table has nothing in this place: no value, or what pandas puts there, which is not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def answer_text(value: Any) -> str:
    """A reference as text, with alternatives joined by "or"."""
    if isinstance(value, list | tuple):
        return " or ".join(dict.fromkeys(str(item).strip() for item in value))
    return str(value).strip()
