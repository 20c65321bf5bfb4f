"""What environments over a dataset share: the seed names a row, one answer is judged, and the episode is over.

Seed s is row s modulo the number of rows, in the order of the data: for ever the same problem, as long as the data
have the same hash, which `data_hash` and the first info say. Seeds 0 to n - 1 go through all n of them once.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from gem.core import Env, Info, State, Step, check_action, reading_state
from gem.datasets import Row, load
from gem.datasets.loading import Source
from gem.errors import EpisodeOver, InvalidArgument, InvalidData
from gem.rng import SplitMix64
from gem.views import TextView, View

QUESTIONS = ("problem", "question", "prompt", "Question")
ANSWERS = ("answer", "answers", "golden_answers", "Answer")
CORRECT = "A correct answer: "
"""What stands before a reference, in whatever notation the data have it."""


class Judged(NamedTuple):
    """What an answer is worth."""

    reward: float
    said: str
    """To the agent, about its answer."""
    error: Literal["format", ""] = ""
    more: Info = {}
    """Added to the info."""


class ProblemEnv(Env):
    """A dataset with one turn for each problem.

    Args:
        dataset: whatever `gem.datasets.load` takes: an environment's id, rows, a file, `hub:owner/name`, `sample:name`.
        split: of a dataset of the hub, where it has several.
        question_key: the column with the question; without it, the first of problem, question, prompt, Question.
        answer_key: the column with the answer; without it, the first of answer, answers, golden_answers, Answer.
        seed: of the first problem.

    Raises:
        DataUnavailable: if the data cannot be had.
        InvalidArgument: if a column is not there.
    """

    pattern: ClassVar[re.Pattern[str]]
    """What an answer has to contain; people are asked before they send anything else."""
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
        self.question_key = column(question_key, QUESTIONS, columns, "question_key")
        self.answer_key = column(answer_key, ANSWERS, columns, "answer_key")
        self.max_turns = 1
        self.data_hash = self.dataset.sha256
        self.over = True
        self.problem: Row = {}
        self.outcome = ""
        """What is said of the answer; empty before."""
        self._asked = 0

    @property
    def row(self) -> int:
        """The number of the present problem in the data."""
        assert self.seed is not None
        return self.seed % len(self.dataset)

    @property
    def question(self) -> str:
        """The present problem in words; empty before the first."""
        return str(self.problem[self.question_key]).strip() if self.problem else ""

    def _start(self) -> tuple[str, Info]:
        self._open()
        self.over, self.outcome = False, ""
        data = {"source": self.dataset.source, "sha256": self.dataset.sha256, "row": self.row}
        return self._ask(), {"suffix": self.prompt, "data": data}

    def _open(self) -> None:
        """Look at the row that the seed names."""
        self.problem, self._asked = self.dataset[self.row], 0
        if self.question_key not in self.problem or self.answer_key not in self.problem:
            raise InvalidData(f"Row {self.row} of {self.dataset.source} lacks its question or its answer.")

    def _ask(self) -> str:
        """The first observation."""
        return self.question

    @abstractmethod
    def _judge(self, action: str) -> Judged:
        """What the action is worth, from 0 to 1, where 1 is solved."""

    @abstractmethod
    def _random_action(self, rng: SplitMix64) -> str:
        """A well-formed answer that knows nothing."""

    def step(self, action: str) -> Step:
        """As `Env.step`: the answer is judged, and the episode ends."""
        if self.over:
            raise EpisodeOver("There is no episode under way; call reset() to begin one.")
        check_action(action)
        judged = self._judge(action)
        self.over, self.outcome = True, judged.said
        info: Info = {"suffix": "", "success": judged.reward >= 1, **judged.more}
        if judged.error:
            info["error"] = judged.error
        return judged.said, judged.reward, True, False, info

    def get_state(self) -> State:
        """As `Env.get_state`. The generator follows from the seed: only the next episode's seed is drawn from it."""
        return {"seed": self.seed, "over": self.over, "outcome": self.outcome}

    def set_state(self, state: State) -> None:
        """See `Env.set_state`."""
        with reading_state(self):
            self.seed, self._next_seed = state["seed"], None
            self.rng.seed(self.seed)
            self.over, self.outcome = state["over"], state["outcome"]
        if self.seed is not None:
            self._open()

    def sample_random_action(self) -> str:
        """See `Env.sample_random_action`."""
        if self.seed is None or self.over:
            raise EpisodeOver("There is no episode; call reset() to begin one.")
        self._asked += 1
        return self._random_action(SplitMix64(self.seed, self._asked))

    def view(self, seat: int = 0) -> View:
        """As `Env.view`: the problem, and what came of the answer."""
        return TextView(kind="text", name=self._name(), text=self._picture(), facts=self._facts())

    def _name(self) -> str:
        return f"A problem of {self.spec.family}" if self.spec else "A problem"

    def _picture(self) -> str:
        return f"{self.question}\n\n{self.outcome}" if self.outcome else self.question

    def _facts(self) -> list[tuple[str, str]]:
        place = [("Row", f"{self.row:,} of {len(self.dataset):,}")] if self.seed is not None else []
        return [*place, ("From", self.dataset.source)]


def column(named: str, usual: Sequence[str], columns: Sequence[str], argument: str) -> str:
    """The column that is named, or the first of the usual ones that is there.

    Raises:
        InvalidArgument: if there is none.
    """
    if named and named not in columns:
        raise InvalidArgument(f"There is no column {named!r} for {argument}; there are {', '.join(columns)}.")
    found = named or next((name for name in usual if name in columns), "")
    if not found:
        raise InvalidArgument(f"Say with {argument} which of the columns {', '.join(columns)} it is.")
    return found


def answer_text(value: Any) -> str:
    """A reference as people read it: alternatives joined by "or"."""
    if isinstance(value, list | tuple):
        return " or ".join(dict.fromkeys(str(item).strip() for item in value))
    return str(value).strip()
