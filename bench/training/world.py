"""How well a policy predicts what GuessTheNumber will answer, beside the best that can be done.

    python -m bench.training.world [nano-base] [--episodes 150]

A policy that has learned from random play alone can know nothing of how to win, but it can know how the world answers:
whether the secret is higher or lower follows from the guesses before. Each cell is its cross-entropy and the least
possible one, in nats for each answer, over random guesses inside the numbers still possible. What it does not know of
the earlier guesses, a training has to find out by itself.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import torch

import gem
from gem.cli.output.tables import table
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.training.policy.policies import Policy, load_policy
from gem.training.policy.prompts import observation_text

GAMES = ("game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard")


class Answer(NamedTuple):
    """An answer of the game, how surprised the policy was by it and how surprised one should be, in nats."""

    guesses_before: int
    surprise: float
    least: float


def answers(policy: Policy, env_id: str, seed: int) -> Iterator[Answer]:
    """Those of one random episode to guesses that told something."""
    env = gem.make(env_id)
    game = env.unwrapped
    assert isinstance(game, GuessTheNumber)
    observation, info = env.reset(seed=seed)
    (tokens,) = policy.prompt_format.encode_first([observation_text(observation, info)])
    places = []
    over = False
    while not over:
        low, high = game.bounds()
        action = env.sample_random_action()
        observation, _, terminated, truncated, info = env.step(action)
        tokens += policy.prompt_format.encode_response(action)
        guess = game.guesses[-1]
        if low <= guess <= high and guess not in game.guesses[:-1]:
            alike = 1 if guess == game.secret else guess - low if game.secret < guess else high - guess
            places.append((len(tokens), len(game.guesses) - 1, math.log((high - low + 1) / alike)))
        (read,) = policy.prompt_format.encode_later([observation_text(observation, info)])
        tokens += read
        over = terminated or truncated
    with torch.inference_mode():
        logps = torch.log_softmax(policy.logits(policy.hidden(torch.tensor([tokens])))[0], -1)
    for place, before, least in places:
        yield Answer(before, -float(logps[place - 1, tokens[place]]), least)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.world", description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="nano-base", help="nano-base, or the folder of a policy")
    parser.add_argument("--episodes", type=int, default=150, help="of each game (150)")
    arguments = parser.parse_args()
    policy = load_policy(arguments.model)
    rows = []
    for env_id in GAMES:
        found = defaultdict(list)
        for seed in range(arguments.episodes):
            for answer in answers(policy, env_id, seed):
                found[answer.guesses_before].append(answer)
        for before, some in sorted(found.items()):
            surprise = statistics.fmean(answer.surprise for answer in some)
            least = statistics.fmean(answer.least for answer in some)
            rows.append([env_id, str(before), str(len(some)), f"{surprise:.2f}", f"{least:.2f}"])
    table(["", "guesses before", "answers", "cross-entropy", "least possible"], rows)


if __name__ == "__main__":
    main()
