"""What a discount does to ReBN's credit: how the turns of one batch are judged with different discounts.

    python -m bench.training.credit nano-base
    python -m bench.training.credit runs/guess/checkpoints/000081 --recipe guess-easy --set wrappers=[]

A policy plays the episodes of one batch, and each discount says which turns were better than usual. The last turn of an
episode that was not solved should not be.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

from gem import credit
from gem.cli.output.tables import table
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout
from gem.training import recipes
from gem.training.collecting.collector import FIRST_SEED
from gem.training.spec import TrainingSpec, read_spec, with_settings

HEADINGS = ["discount", "mean return to go", "unsolved", "of these judged good at the end", "mean advantage by turn"]


def play(model: str, spec: TrainingSpec) -> list[EpisodeRecord]:
    """A batch of episodes as the specification asks for them."""
    from gem.training.policy.policy_agent import PolicyAgent

    agent = PolicyAgent(model, temperature=spec.temperature, input_mode=spec.input_mode, max_tokens=spec.max_tokens)
    slots = [
        EpisodeRequest(i, spec.env_id, FIRST_SEED + i, spec.env_kwargs, spec.wrappers) for i in range(spec.episodes)
    ]
    return list(rollout(agent, slots, num_envs=min(spec.episodes, 128)))


def judged(records: Sequence[EpisodeRecord], discount: float) -> list[str]:
    """A row for a discount, as `HEADINGS` says."""
    found = credit.compute_advantages(
        "rebn", [[turn.reward for turn in record.turns] for record in records], discount=discount
    )
    unsolved = [own[-1] for record, own in zip(records, found.advantages, strict=True) if not record.success]
    longest = max(map(len, found.advantages))
    by_turn = [statistics.fmean(own[turn] for own in found.advantages if len(own) > turn) for turn in range(longest)]
    return [
        f"{discount:g}",
        f"{statistics.fmean(target for own in found.targets for target in own):.3f}",
        f"{len(unsolved)} of {len(records)}",
        str(sum(advantage > 0 for advantage in unsolved)),
        " ".join(f"{mean:+.2f}" for mean in by_turn),
    ]


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.credit", description=__doc__.splitlines()[0])
    parser.add_argument("model", help="nano-base, or the folder of a policy")
    parser.add_argument("--recipe", default="guess-easy", help="the recipe that says what is played (guess-easy)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a field to change, as JSON")
    parser.add_argument("--discount", type=float, action="append", help="may be given several times (0.9 and 1)")
    arguments = parser.parse_args()
    records = play(arguments.model, read_spec(with_settings(recipes.data(arguments.recipe), arguments.set)))
    table(HEADINGS, [judged(records, discount) for discount in arguments.discount or (0.9, 1.0)])


if __name__ == "__main__":
    main()
