"""A bandit, and a policy that knows no more than how its actions are written."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.packages import skip_without

skip_without("torch")  # all tests of this folder

import torch

from gem.core import State
from gem.envs.game import BoxedEnv, Game, PlayResult
from gem.envs.multiagent import Fault, MultiAgentEnv
from gem.registry import ENV_REGISTRY, register
from gem.rng import SplitMix64, choice
from gem.training.policy.nano import Nano, nano_config
from gem.training.policy.policies import write_weights
from gem.training.policy.prompts import NanoPromptFormat
from tools.nano_base.corpus import Corpus
from tools.nano_base.pieces import play as play_at_random
from tools.nano_base.pretraining import encode, pretrain
from tools.nano_base.source import Kind, Source
from tools.nano_base.tokenizer import train_tokenizer

ARMS = {"A": 0.1, "B": 0.3, "C": 1.0, "D": 0.5}
BANDIT, STUCK, ARM_DUEL = "test:TrainingBandit-v0", "test:StuckBandit-v0", "test:ArmDuel-v0"


class Bandit(Game):
    """Two turns; each arm has its reward, and the episode is a success if both turns took the best."""

    pattern = re.compile(r"\\boxed{([A-D])}")
    prompt = "Which arm?"

    def __init__(self, rounds: int = 2, seed: int | None = None) -> None:
        super().__init__(seed)
        self.rounds = rounds
        self.taken: list[str] = []

    def _draw(self) -> None:
        self.max_turns = self.rounds + 1
        self.taken = []

    def _instructions(self) -> str:
        return "There are the arms A, B, C and D. Write one into \\boxed{}."

    def _play(self, match: str) -> PlayResult:
        self.taken.append(match)
        self.over = len(self.taken) == self.rounds
        self.solved = self.over and set(self.taken) == {"C"}
        return f"You took {match}.", ARMS[match], None

    def _suffix(self) -> str:
        return self.prompt

    def _format_help(self) -> str:
        return "There is no arm in your answer."

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{choice(rng, 'ABCD')}}}"

    def _get_own_state(self) -> State:
        return {"taken": list(self.taken)}

    def _set_own_state(self, state: State) -> None:
        self.taken = list(state["taken"])


class Broken(Bandit):
    """Raises on every other seed."""

    def _play(self, match: str) -> PlayResult:
        if (self.seed or 0) % 2:
            raise RuntimeError("the lever is stuck")
        return super()._play(match)


class ArmDuel(MultiAgentEnv):
    """Each seat takes an arm; the better one wins. It reads like the bandit, so that the tiny policy can play it."""

    pattern = Bandit.pattern

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.max_turns = 6
        self.taken: list[str] = []

    def _draw(self) -> None:
        self.taken = []

    def _instructions(self) -> str:
        return "There are the arms A, B, C and D. Write one into \\boxed{}."

    def _briefing(self, seat: int) -> str:
        return ""

    def _play(self, seat: int, match: str) -> tuple[str, Fault]:
        self.taken.append(match)
        if len(self.taken) == 2:
            first, second = (ARMS[arm] for arm in self.taken)
            self._end([0.0, 0.0] if first == second else [1.0, -1.0] if first > second else [-1.0, 1.0])
        else:
            self._pass_turn()
        return f"You took {match}.", None

    def _suffix(self, seat: int) -> str:
        return Bandit.prompt

    def _format_help(self) -> str:
        return "There is no arm in your answer."

    def random_actions(self) -> list[str]:
        return [f"\\boxed{{{arm}}}" for arm in ARMS]

    def _random_action(self, rng: SplitMix64) -> str:
        return choice(rng, self.random_actions())

    def _get_own_state(self) -> State:
        return {"taken": list(self.taken)}

    def _set_own_state(self, state: State) -> None:
        self.taken = list(state["taken"])


OURS: dict[str, type[BoxedEnv]] = {BANDIT: Bandit, STUCK: Broken, ARM_DUEL: ArmDuel}


def register_environments() -> list[str]:
    """Register all, and return the ids that were not registered before."""
    new = [env_id for env_id in OURS if env_id not in ENV_REGISTRY]
    for env_id in new:
        register(env_id, OURS[env_id], seats=OURS[env_id]().seats)
    return new


@contextmanager
def registered() -> Iterator[None]:
    """Register them within the context only, because other tests look at every registered environment."""
    new = register_environments()
    yield
    for env_id in new:
        del ENV_REGISTRY[env_id]


@pytest.fixture(scope="module", autouse=True)
def environments() -> Iterator[None]:
    with registered():
        yield


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a policy that pulls arms at random, made as nano-base is made."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("tiny")
    with registered():
        found = list(play_at_random(Source(BANDIT, 1000, transcripts=True), 200, 0))
    prompt_format = NanoPromptFormat(train_tokenizer("".join(piece) for piece in found))
    net = Nano(nano_config(prompt_format.tokenizer.get_vocab_size(), hidden=32, layers=1, max_length=256))
    net.initialize(torch.Generator().manual_seed(0))
    kind = Kind((), depth=1, steps=150, batch_tokens=1024)
    losses = list(pretrain(net, Corpus.of(prompt_format, encode(prompt_format, found)), kind, 150, 0))
    assert losses[-1] < 0.3 * losses[0]
    write_weights(net, folder)
    for name, content in prompt_format.tokenizer_files.items():
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def small(tiny: Path) -> dict[str, Any]:
    """A specification that takes a second or two."""
    return {
        "env_id": BANDIT,
        "model": str(tiny),
        "episodes": 32,
        "updates": 4,
        "learning_rate": 3e-3,
        "warmup": 0,
        "max_length": 128,
        "checkpoint_seconds": 0,
        "sample_every": 1,
    }
