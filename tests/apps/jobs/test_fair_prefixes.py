"""The order in which the shards of a job are played: whatever prefix was played is a fair sample of all of it."""

from collections import Counter
from collections.abc import Mapping

import pytest

from apps.accounts.models import User
from apps.jobs import leases, operations, planning
from apps.jobs.models import Shard
from apps.jobs.planning import Piece
from gem import benchmarks
from gem.evaluation.spec import EvaluationSpec

ENVS = benchmarks.load("games").env_ids
TICTACTOE = "duel:TicTacToe-v0"


def spec_of(env_ids: list[str], episodes: int, **more: object) -> EvaluationSpec:
    return EvaluationSpec.model_validate(
        {"agent": "random", "env_ids": env_ids, "episodes_per_env": episodes, "seed": 7, **more}
    )


def pieces_of(spec: EvaluationSpec, size: int = 250) -> list[Piece]:
    return planning.pieces(spec, dict.fromkeys(spec.env_ids, size))


def slots_of(pieces: list[Piece]) -> list[int]:
    return [piece.first_slot + index for piece in pieces for index in range(piece.episodes)]


@pytest.mark.parametrize("size", [10, 64, 250])
@pytest.mark.parametrize("episodes", [1, 10, 50, 333])
def test_every_prefix_has_the_first_seeds_of_all_environments(size: int, episodes: int) -> None:
    spec = spec_of(ENVS, episodes)
    pieces = pieces_of(spec, size)
    assert sorted(slots_of(pieces)) == list(range(spec.episodes_total)), "each slot once, as before"
    played: Counter[str] = Counter()
    for place, piece in enumerate(pieces, start=1):
        assert piece.start == played[piece.part.env_id], "the seeds of an environment are played in their order"
        played[piece.part.env_id] += piece.episodes
        counts = [played[env_id] for env_id in ENVS]
        if place >= len(ENVS):
            assert min(counts) >= min(planning.FIRST_EPISODES, episodes), "every environment has been played"
            assert max(counts) <= 4 * min(counts), "and none much more often than another"
    assert set(played.values()) == {episodes}


def test_environments_whose_shards_have_other_sizes_keep_pace_with_each_other() -> None:
    sizes = {ENVS[0]: 10, ENVS[1]: 90, ENVS[2]: 300}
    played: Counter[str] = Counter()
    for piece in planning.pieces(spec_of(ENVS[:3], 3000), sizes):
        assert piece.start == min(played[env_id] for env_id in ENVS[:3]), "the one that is behind is next"
        played[piece.part.env_id] += piece.episodes


def test_a_large_environment_has_no_small_shards() -> None:
    pieces = pieces_of(spec_of(ENVS[:1], 10_000, repeats=4), 500)
    assert {piece.episodes for piece in pieces} == {500}
    assert len(pieces) == 80


def test_a_job_of_many_short_parts_has_few_shards() -> None:
    assert len(pieces_of(spec_of(ENVS, 10))) == 2 * len(ENVS)


def test_all_seeds_are_tried_once_before_the_second_try() -> None:
    repeats = [piece.part.repeat for piece in pieces_of(spec_of(ENVS[:3], 20, repeats=3))]
    assert repeats == sorted(repeats)


def test_both_seats_of_a_seed_are_in_one_piece() -> None:
    pieces = pieces_of(spec_of([TICTACTOE, ENVS[0]], 25, opponent="random"), 11)
    odd = [piece for piece in pieces if piece.part.env_id == TICTACTOE and piece.episodes % 2]
    assert [piece.start + piece.episodes for piece in odd] == [25], "only the last one may lack its second seat"
    assert all(piece.start % 2 == 0 for piece in pieces if piece.part.env_id == TICTACTOE)


def test_workers_claim_in_this_order_and_episodes_keep_their_identities(ada: User) -> None:
    spec = spec_of(ENVS[:5], 9)
    job = operations.submit(ada, spec)
    claims = []
    while (claim := leases.claim()) is not None:
        claims.append(claim)
    assert [claim.env_id for claim in claims] == ENVS[:5] * 2
    seeds: Mapping[int, tuple[str, int]] = {
        request.index: (request.env_id, request.seed) for claim in claims for request in claim.slots()
    }
    assert seeds == {env * 9 + index: (env_id, 7 + index) for env, env_id in enumerate(ENVS[:5]) for index in range(9)}
    assert Shard.objects.filter(job=job).count() == 10
