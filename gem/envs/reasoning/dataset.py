r"""Answer one question, which a program generates for every seed and judges by itself.

The datasets come from ReasoningGym (https://github.com/open-thought/reasoning-gym): arithmetic, algebra, algorithms,
puzzles, logic, graphs, geometry, code. They need its package: `pip install reasoning-gym`.

Rules:
    One problem, one answer. The seed selects the problem: seed 0 is the first of the dataset, seed 1 the second.

Actions:
    Any text with the answer in `\boxed{...}`; the last box counts. The problem says how to write the answer.

    For example `\boxed{42}`.

Rewards:
    The score of the dataset: 1 for a correct answer, and in some datasets less than 1 for an answer that is nearly
    correct or well formed. No box counts as no answer.

Arguments:
    - `config`: the dataset's own settings, such as `{"max_words": 5}`; see its documentation.
    - `dataset_seed`: selects another series of problems.
    - `size`: the number of problems that some datasets generate at once.

Source:
    ReasoningGym, Stojanovski et al. 2025 (arXiv 2505.24760), version 0.1.25; in GEM under the same ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any

from gem.core import Env, Info, State, Step, reading_state
from gem.envs.reasoning import PACKAGE, source
from gem.envs.reasoning.datasets import DATASETS
from gem.envs.sampling import sample_before_reset
from gem.errors import EnvironmentFailure, EpisodeOver, InvalidArgument, MissingDependency
from gem.grading.parsing import extract_last_boxed_answer
from gem.processes import HelperBusy, ProcessTimeout
from gem.rng import SplitMix64, choice
from gem.validation.values import check_action
from gem.views import TextView, View
from gem.views.cube import read_cube

PROMPT = "Think it through, and write your final answer in \\boxed{}."
TOKEN = re.compile(r"[^\s{}\\]+")
MAX_TOKEN_CHARS = 40


class ReasoningGymEnv(Env):
    """A dataset of ReasoningGym with one turn for each problem.

    Args:
        name: the name of the dataset.
        size: how many problems are generated at once, for the datasets that do so.
        dataset_seed: selects the series of problems; GEM uses 42.
        config: the dataset's settings besides `size` and `seed`.
        seed: the seed of the first problem.

    Raises:
        InvalidArgument: on an unknown name, or settings that the dataset does not accept.
        MissingDependency: if the package `reasoning-gym` is not installed.
    """

    return_bounds = (0.0, 1.0)

    def __init__(
        self,
        name: str,
        size: int = 500,
        dataset_seed: int = 42,
        config: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if name not in DATASETS:
            raise InvalidArgument(f"ReasoningGym has no dataset {name!r}; gemweb envs rg: lists them.")
        if size < 1 or dataset_seed < 0:
            raise InvalidArgument("size must be at least 1, and dataset_seed must not be negative.")
        self.max_turns = 1
        self.data_hash = f"{PACKAGE} {_installed_version(f'rg:{name}')}"
        self.over = True
        self.question = ""
        self.outcome = ""
        """The observation after the answer; empty before the answer."""
        self._correct_answer: str | None = None
        """A correct answer; None if the dataset does not give one."""
        self._num_random_actions = 0
        self._arguments = {"name": name, "size": size, "dataset_seed": dataset_seed, "config": dict(config or {})}
        if config:
            self._check_config()

    def _check_config(self) -> None:
        """Let the dataset be made once.

        A server that is busy with checks leaves it out: stored specifications are read too, and have to stay readable.

        Raises:
            InvalidArgument: if it does not take the config, or needs too much time or memory with it.
        """
        name = self._arguments["name"]
        try:
            answer = source.ask("describe", **self._named_arguments())
        except HelperBusy:
            return
        except EnvironmentFailure as failure:
            raise InvalidArgument(f"The dataset {name} could not be made with this config. {failure}") from failure
        if "error" in answer:
            raise InvalidArgument(f"The dataset {name} does not take this config: {answer['error']}")

    def _start(self) -> tuple[str, Info]:
        assert self.seed is not None
        problem = self._request("problem", seed=self.seed)
        self.question, self._correct_answer = problem["question"], problem["answer"]
        self.over, self.outcome, self._num_random_actions = False, "", 0
        return self.question, {"suffix": PROMPT}

    def step(self, action: str) -> Step:
        """See `Env.step`. The answer is judged, and the episode ends."""
        if self.over:
            raise EpisodeOver("There is no episode under way; call reset() to begin one.")
        check_action(action)
        answer = extract_last_boxed_answer(action)
        try:
            reward = float(self._request("score", seed=self.seed, answer=answer)["score"])
        except ProcessTimeout:
            reward = 0.0  # an answer that cannot be judged in time counts as wrong
        self.over = True
        solved = reward >= 1
        self.outcome = self._describe_result(answer, reward)
        info: Info = {"suffix": "", "success": solved}
        if answer is None:
            info["error"] = "format"
        return self.outcome, reward, True, False, info

    def _describe_result(self, answer: str | None, reward: float) -> str:
        if reward >= 1:
            return "That is correct."
        text = "There is no answer in \\boxed{}." if answer is None else "That is not correct."
        if reward > 0:
            text += f" It earns {reward:.2g} of 1."
        return text if self._correct_answer is None else f"{text} A correct answer: {self._correct_answer}"

    def get_state(self) -> State:
        """See `Env.get_state`. The generator need not be stored: only the seed of the next episode is drawn from it."""
        problem = {"seed": self.seed, "question": self.question, "right": self._correct_answer}
        return {**problem, "over": self.over, "outcome": self.outcome}

    def set_state(self, state: State) -> None:
        """See `Env.set_state`."""
        with reading_state(self):
            self.seed = state["seed"]
            self._next_seed = None
            self.rng.seed(self.seed)
            self.question, self._correct_answer = state["question"], state["right"]
            self.over, self.outcome, self._num_random_actions = state["over"], state["outcome"], 0

    def sample_random_action(self) -> str:
        """See `Env.sample_random_action`. The action is a word or number of the question."""
        self._num_random_actions += 1
        if self.seed is None:
            return sample_before_reset(self, self._num_random_actions)
        tokens = [token for token in TOKEN.findall(self.question) if len(token) <= MAX_TOKEN_CHARS]
        keys = (self.draw_key, self.seed) if self.draw_key else (self.seed,)
        return f"\\boxed{{{choice(SplitMix64(*keys, self._num_random_actions), tokens or ['yes', 'no'])}}}"

    def skip_random_actions(self, number: int) -> None:
        """See `Env.skip_random_actions`."""
        if type(self).sample_random_action is ReasoningGymEnv.sample_random_action:
            self._num_random_actions += number  # each draw is made from it
        else:
            super().skip_random_actions(number)

    def reference_action(self) -> str | None:
        """The action with the reference answer of the current problem; None if the dataset does not give one."""
        return None if self._correct_answer is None else f"\\boxed{{{self._correct_answer}}}"

    def view(self, seat: int = 0) -> View:
        """See `Env.view`. The view is the problem and, after the answer, the outcome."""
        text = f"{self.question}\n\n{self.outcome}" if self.outcome else self.question
        view = TextView(kind="text", name=f"ReasoningGym, {self._arguments['name']}", text=text)
        if "cube" in str(self._arguments["name"]) and (cube := read_cube(self.question)):
            view["cube"] = cube
        return view

    def _request(self, do: str, **request: Any) -> dict[str, Any]:
        answer = source.ask(do, **self._named_arguments(), **request)
        if "error" not in answer:
            return answer
        raise EnvironmentFailure(f"ReasoningGym could not {do} problem {request['seed']}: {answer['error']}")

    def _named_arguments(self) -> dict[str, Any]:
        """The arguments, as the helper names them."""
        arguments = dict(self._arguments)
        return {"dataset": arguments.pop("name"), **arguments}


@cache
def _installed_version(env_id: str) -> str:
    """The installed version of `reasoning-gym`.

    Raises:
        MissingDependency: if it is not installed.
    """
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError as error:
        raise MissingDependency(env_id, [PACKAGE]) from error
