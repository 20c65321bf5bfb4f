"""Evaluate a model behind an OpenAI-compatible server on some environments, and print the results.

    python -m examples.evaluate_endpoint --url http://127.0.0.1:11434/v1 --model qwen3:4b --tries 4

This does the same as `gemweb eval --agent endpoint`, and shows the parts: a first message, requests, a rollout, a
summary.

Checked: run on CPU in tests.
"""

from __future__ import annotations

import argparse
import asyncio
import os

from gem.agents.endpoint import EndpointAgent, EndpointSpec, try_out
from gem.evaluation.scores import Estimate, Outcome, summarize
from gem.rollout import EpisodeRequest, rollout

ENVIRONMENTS = ["game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy", "game:Mastermind-v0-easy"]


def main() -> None:
    """Play the episodes and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="the address, without /chat/completions")
    parser.add_argument("--model", required=True, help="the name of the model on the server")
    parser.add_argument("--key-env", help="the environment variable with the key")
    parser.add_argument("--env", action="append", help="an environment id; can be given several times")
    parser.add_argument("--seeds", type=int, default=20, help="number of seeds per environment")
    parser.add_argument("--tries", type=int, default=1, help="episodes per seed, for pass@k")
    parser.add_argument("--at-once", type=int, default=8, help="number of concurrent episodes")
    chosen = parser.parse_args()

    spec = EndpointSpec(url=chosen.url, model=chosen.model, temperature=0.6, concurrency=chosen.at_once)
    key = os.environ[chosen.key_env] if chosen.key_env else None
    trial = asyncio.run(try_out(spec, key))  # an agent would be patient with a server that does not answer
    if not trial.works:
        parser.exit(1, f"{trial.sentence}\n")
    agent = EndpointAgent(spec, key)
    for env_id in chosen.env or ENVIRONMENTS:
        slots = [EpisodeRequest(i, env_id, seed=i % chosen.seeds) for i in range(chosen.seeds * chosen.tries)]
        outcomes, failure = [], ""
        for record in rollout(agent, slots, num_envs=chosen.at_once):
            tokens_in, tokens_out = record.tokens
            failure = failure or record.failure
            outcomes.append(
                Outcome(
                    place=record.index,
                    total_reward=record.total_reward,
                    success=bool(record.success),
                    turns=record.turn_count,
                    failed=record.failed_by == "environment",
                    unanswered=record.failed_by == "agent",
                    problem=(record.identity.seed, record.seat),
                    tokens_in=tokens_in,
                    tokens_out=tokens_out,
                )
            )
        summary = summarize(outcomes)
        print(f"{env_id}: {summary.n} episodes, {summary.unanswered} unanswered")
        if failure:
            print(f"  {failure}")
        if summary.success is not None:
            print(f"  solved {in_percent(summary.success)}")
        for k, share in summary.passes.items():
            print(f"  pass@{k} {in_percent(share)}")
        print(f"  {summary.tokens_in:,} tokens in, {summary.tokens_out:,} out")


def in_percent(share: Estimate) -> str:
    """Return a share with its 95 % interval over seeds, if there are enough seeds for one."""
    if share.low is None or share.high is None:
        return f"{share.mean:.1%}. {share.reason}"
    return f"{share.mean:.1%} [{share.low:.1%}, {share.high:.1%}]"


if __name__ == "__main__":
    main()
