"""Digests: canonical JSON, trees with proofs, and what the digest of an episode covers."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from gem.agents import make_agent
from gem.errors import InvalidData
from gem.records import EpisodeRecord, episode_files
from gem.rollout import EpisodeRequest, rollout
from gem.verification import merkle
from gem.verification.canonical import canonical_json, write_number
from gem.verification.digests import Leaf, episode_digest, inclusions, leaf_of, row_digests, turn_digest

WHOLE = st.integers(-(2**53) + 1, 2**53 - 1)
SCALARS = st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | st.text()
PLAIN = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)

NUMBERS = {  # appendix B of RFC 8785
    0x0000000000000000: "0",
    0x8000000000000000: "0",
    0x0000000000000001: "5e-324",
    0x7FEFFFFFFFFFFFFF: "1.7976931348623157e+308",
    0x4340000000000000: "9007199254740992",
    0x4430000000000000: "295147905179352830000",
    0x44B52D02C7E14AF5: "9.999999999999997e+22",
    0x44B52D02C7E14AF6: "1e+23",
    0x444B1AE4D6E2EF4E: "999999999999999700000",
    0x444B1AE4D6E2EF50: "1e+21",
    0x3EB0C6F7A0B5ED8D: "0.000001",
    0x3EB0C6F7A0B5ED8C: "9.999999999999997e-7",
    0x41B3DE4355555553: "333333333.3333332",
    0xBECBF647612F3696: "-0.0000033333333333333333",
    0x43143FF3C1CB0959: "1424953923781206.2",
}
LEAVES = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")] + [
    bytes(range(0x60, 0x70))
]
ROOTS = {  # of the first leaves; the tests of Certificate Transparency have the same
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


@given(PLAIN)
@settings(max_examples=60, deadline=None)
def test_canonical_json_is_that_of_the_package_rfc8785(value: object) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


def test_numbers_are_written_as_in_the_rfc() -> None:
    import struct

    for bits, text in NUMBERS.items():
        (number,) = struct.unpack(">d", bits.to_bytes(8, "big"))
        assert write_number(number) == text


def test_keys_are_sorted_by_utf_16_and_large_whole_numbers_are_strings() -> None:
    assert canonical_json({"\U0001f600": 1, "\ufb33": 2, "a": 3}) == '{"a":3,"\U0001f600":1,"\ufb33":2}'.encode()
    assert (
        canonical_json([2**53 - 1, 2**53, -(2**63)]) == b'[9007199254740991,"9007199254740992","-9223372036854775808"]'
    )
    assert canonical_json({1: (True, 1.0)}) == b'{"1":[true,1]}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {"\udfff": 1}, b"", {1, 2}])
def test_what_json_does_not_have_has_no_digest(value: object) -> None:
    with pytest.raises(InvalidData, match="digest"):
        canonical_json(value)


def test_roots_are_those_of_certificate_transparency() -> None:
    for size, root in ROOTS.items():
        assert merkle.root(map(merkle.leaf_hash, LEAVES[:size])).hex() == root


def test_every_proof_leads_to_the_root_and_to_no_other() -> None:
    for size in range(1, 40):
        hashes = [merkle.leaf_hash(bytes([number])) for number in range(size)]
        root, tree = merkle.root(hashes), merkle.Tree(hashes)
        for place in range(size):
            path = tree.inclusion_proof(place)
            assert merkle.root_from_proof(hashes[place], place, size, path) == root
            assert merkle.root_from_proof(hashes[place - 1], place, size, path) != root or size == 1
            assert merkle.root_from_proof(hashes[place], place, size, [*path, root]) is None
            assert merkle.root_from_proof(hashes[place], size, size, path) is None
            assert not path or merkle.root_from_proof(hashes[place], place, size, path[:-1]) != root


# ------------------------------------------------------------------ episodes


@pytest.fixture(scope="module")
def record() -> EpisodeRecord:
    return next(rollout(make_agent("random"), [EpisodeRequest(3, "game:Minesweeper-v0-easy", seed=3)]))


@pytest.fixture(scope="module")
def two_seats() -> EpisodeRecord:
    agent = make_agent("random")
    return next(rollout(agent, [EpisodeRequest(0, "duel:KuhnPoker-v0", seed=2)], opponent=agent))


def test_the_digest_of_an_episode_is_written_out() -> None:
    """The digest can be computed by anybody from what docs/verification.md says."""
    played = next(rollout(make_agent("expert"), [EpisodeRequest(0, "game:GuessTheNumber-v0-easy", seed=1)]))
    turns = [
        {"seat": None, "observation": played.first_observation, "action": None, "reward": 0, "terminated": False,
         "truncated": False, "info": played.first_info},
    ]  # fmt: skip
    for number, turn in enumerate(played.turns, start=1):
        turns.append(
            {"seat": 0, "observation": turn.observation, "action": turn.action, "reward": turn.reward,
             "terminated": played.terminated and number == played.turn_count,
             "truncated": played.truncated and number == played.turn_count, "info": turn.info}
        )  # fmt: skip
    identity = {"env_id": "game:GuessTheNumber-v0-easy", "version": played.identity.env_version, "seed": 1}
    identity |= {"kwargs": {}, "wrappers": [], "data_hash": ""}
    digests = [sha256(rfc8785.dumps(turn)).hexdigest() for turn in turns]
    episode = {"format": "gemweb-episode-1", "identity": identity, "turns": digests, "success": played.success}
    episode |= {"seat": 0, "cut": "", "failed_by": "", "max_turns": played.max_turns}
    assert episode_digest(played) == sha256(rfc8785.dumps(episode)).hexdigest()


def test_a_file_has_the_digest_of_what_was_played(
    record: EpisodeRecord, two_seats: EpisodeRecord, tmp_path: Path
) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text("".join(episode_files.episode_line(one, "random") for one in (record, two_seats)), "utf-8")
    read = [stored.record for stored in episode_files.read(path)]
    assert [episode_digest(one) for one in read] == [episode_digest(record), episode_digest(two_seats)]


def _change_turn(**changes: object) -> Callable[[EpisodeRecord], None]:
    def change(record: EpisodeRecord) -> None:
        record.turns[-1] = replace(record.turns[-1], **changes)

    return change


def _change_identity(**changes: object) -> Callable[[EpisodeRecord], None]:
    def change(record: EpisodeRecord) -> None:
        record.identity = replace(record.identity, **changes)

    return change


CHANGES: list[Callable[[EpisodeRecord], object]] = [
    _change_turn(reward=0.123),
    _change_turn(action="another"),
    _change_turn(observation="another"),
    _change_turn(seat=1),
    _change_turn(info={"success": True}),
    _change_identity(seed=99),
    _change_identity(env_version=99),
    _change_identity(data_hash="00"),
    _change_identity(env_kwargs={"size": 9}),
    _change_identity(wrappers=[{"name": "time_limit", "max_turns": 99}]),
    lambda record: record.turns.pop(),
    lambda record: record.turns.reverse(),
    lambda record: record.turns.append(record.turns[-1]),
    lambda record: record.first_info.update(suffix="another"),
    lambda record: setattr(record, "first_observation", "another"),
    lambda record: setattr(record, "terminated", not record.terminated),
    lambda record: setattr(record, "truncated", not record.truncated),
    lambda record: setattr(record, "success", None),
    lambda record: setattr(record, "failed_by", "agent"),
    lambda record: setattr(record, "cut", "tokens"),
    lambda record: setattr(record, "seat", 1),
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_record_changes_its_digest(
    record: EpisodeRecord, change: Callable[[EpisodeRecord], object]
) -> None:
    changed = deepcopy(record)
    change(changed)
    assert asdict(changed) != asdict(record)
    assert episode_digest(changed) != episode_digest(record)


def test_the_reward_of_another_seat_is_covered(two_seats: EpisodeRecord) -> None:
    changed = deepcopy(two_seats)
    changed.turns[-1].info["seats"][1]["reward"] += 1
    assert episode_digest(changed) != episode_digest(two_seats)


def test_whole_rewards_are_the_same_as_floats_and_what_agents_say_of_themselves_is_left_out(
    record: EpisodeRecord,
) -> None:
    assert turn_digest("", {}, reward=1) == turn_digest("", {}, reward=1.0)
    changed = deepcopy(record)
    changed.turns = [replace(turn, extra={"note": "thinking"}) for turn in changed.turns]
    assert episode_digest(changed) == episode_digest(record)


# ------------------------------------------------------------------ rows


def test_the_digest_of_a_row_does_not_depend_on_the_order_of_its_file_and_proves_each_episode() -> None:
    leaves = [Leaf(env_id, index, f"{index:064x}") for env_id in ("b", "a") for index in range(7)]
    digests = row_digests(leaves)
    assert digests == row_digests(reversed(leaves))
    assert (digests.size, list(digests.environments)) == (14, ["a", "b"])
    proofs = inclusions(leaves, [("b", 3), ("a", 0)])
    proof = proofs["b", 3]
    assert proof.place == 10
    assert proof.shows(leaves[3], digests.row)
    assert not proof.shows(leaves[4], digests.row)
    assert not proof.shows(leaves[3], digests.environments["b"])
    assert not proof._replace(path=("xyz", *proof.path[1:])).shows(leaves[3], digests.row)
    moved = [replace(leaf, index=leaf.index + 1) for leaf in leaves]
    assert row_digests(moved).row != digests.row
    assert json.loads(json.dumps(proof._asdict()))["size"] == 14


def test_the_proofs_of_all_episodes_take_one_hash_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    leaves = [Leaf("a", index, f"{index:064x}") for index in range(500)]
    row, hashes, node_hash = row_digests(leaves).row, 0, merkle.node_hash

    def counted(left: bytes, right: bytes) -> bytes:
        nonlocal hashes
        hashes += 1
        return node_hash(left, right)

    with monkeypatch.context() as counting:
        counting.setattr(merkle, "node_hash", counted)
        proofs = inclusions(leaves, [leaf.key for leaf in leaves])
    assert hashes < len(leaves)
    assert all(proofs[leaf.key].shows(leaf, row) for leaf in leaves)


def test_a_row_has_no_episode_twice(record: EpisodeRecord) -> None:
    with pytest.raises(InvalidData, match="two episodes with the index 3"):
        row_digests([leaf_of(record), leaf_of(record)])
    with pytest.raises(InvalidData, match="no episode 9"):
        inclusions([leaf_of(record)], [("game:Minesweeper-v0-easy", 9)])
