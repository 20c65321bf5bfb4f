"""Seeds of seasons: as anybody can derive them from a published key."""

from __future__ import annotations

import pytest

from gem.benchmarks.seeds import COMMON, commitment, derive_seed, keeps, new_key, order_of_play
from gem.errors import InvalidArgument
from gem.validation.values import check_seed

KEY = bytes(range(32))
ENV_ID = "game:Sokoban-v0-easy"
VECTORS = {  # `printf %s MESSAGE | openssl dgst -sha256 -mac HMAC -macopt hexkey:KEY`, first 16 digits, without 11 bits
    ("games-easy", 1, ENV_ID, "common", 0): 0x1A67D4319449C082 >> 11,
    ("games-easy", 1, ENV_ID, "common", 1): 0x5DDB14B476169B12 >> 11,
    ("games-easy", 1, ENV_ID, "17", 0): 0x09A93A8E4D30255A >> 11,
    ("games-easy", 2, ENV_ID, "common", 0): 0x5B26B3A66A88D93D >> 11,
}


def test_seeds_are_those_of_openssl() -> None:
    for message, seed in VECTORS.items():
        assert derive_seed(KEY, *message) == seed
    assert derive_seed(KEY, "games-easy", 1, ENV_ID, COMMON, 0) == 929063807125816


def test_a_commitment_is_kept_by_its_key_only() -> None:
    assert commitment(KEY) == "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"
    assert keeps(KEY, commitment(KEY))
    assert not keeps(bytes(32), commitment(KEY))
    assert not keeps(b"", commitment(KEY))
    assert len(new_key()) == 32
    assert new_key() != new_key()


def test_every_part_of_the_message_gives_other_seeds() -> None:
    seeds = {
        derive_seed(key, benchmark, version, env_id, scope, index)
        for key in (KEY, bytes(32))
        for benchmark in ("a", "b")
        for version in (1, 11)
        for env_id in (ENV_ID, "game:Sokoban-v0")
        for scope in ("common", "1", "11")
        for index in range(12)
    }
    assert len(seeds) == 2 * 2 * 2 * 2 * 3 * 12
    assert all(check_seed(seed) < 2**53 for seed in seeds)
    assert min(seeds) < 2**50
    assert max(seeds) > 2**52


def test_the_order_of_play_is_a_permutation_that_anybody_can_derive() -> None:
    assert order_of_play(KEY, "games-easy", 1, COMMON, 8) == [6, 1, 2, 5, 4, 0, 7, 3]
    assert order_of_play(KEY, "games-easy", 1, "17", 8) == [4, 1, 3, 0, 5, 2, 7, 6]
    assert sorted(order_of_play(KEY, "games-easy", 1, "18", 500)) == list(range(500))
    firsts = {order_of_play(KEY, "games-easy", 1, str(scope), 4)[0] for scope in range(60)}
    assert firsts == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "message", [("a/b", 1, ENV_ID, "1", 0), ("a", 1, "", "1", 0), ("a", 1, ENV_ID, "1", -1), ("a", -1, ENV_ID, "1", 0)]
)
def test_messages_that_could_be_read_in_two_ways_are_refused(message: tuple) -> None:
    with pytest.raises(InvalidArgument, match="no part"):
        derive_seed(KEY, *message)
    with pytest.raises(InvalidArgument, match="32 bytes"):
        derive_seed(b"short", "a", 1, ENV_ID, "1", 0)
