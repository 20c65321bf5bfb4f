"""Certificates beside their episodes, and `gemweb verify`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from gem.cli import main
from gem.records import EpisodeRecord, StoredEpisode
from gem.verification.certificates import Certificate, NotProved, sign
from gem.verification.checking import check_episodes
from gem.verification.digests import episode_digest, inclusions, leaf_of
from gem.verification.keys import WELL_KNOWN, SigningKey, SiteKeys
from tests.engine.verification.rows import ENV_IDS, NOON, SITE, certify, lines, play, stored

KEY = SigningKey.generate()


@pytest.fixture(scope="module")
def records() -> list[EpisodeRecord]:
    return play()


@pytest.fixture(scope="module")
def certificate(records: list[EpisodeRecord]) -> Certificate:
    return certify(records)


def check(certificate: Certificate, records: list[EpisodeRecord]) -> int:
    return check_episodes(certificate, lambda: stored(records))


def test_the_episodes_of_a_certificate_are_recognized_in_any_order(
    records: list[EpisodeRecord], certificate: Certificate
) -> None:
    assert check(certificate, records[::-1]) == 12


def test_the_first_difference_is_said(records: list[EpisodeRecord], certificate: Certificate) -> None:
    changed = deepcopy(records)
    changed[1].turns[0] = replace(changed[1].turns[0], reward=9.0)
    with pytest.raises(NotProved, match=r"Minesweeper-v0-easy is not .*line 2: Turn 1 differs in reward: .*9\.0"):
        check(certificate, changed)
    other = play(agent="random", first_seed=200)
    replaced = [*records[:4], replace(other[4], index=4), *records[5:]]
    with pytest.raises(NotProved, match="replaced by another episode"):
        check(certificate, replaced)
    with pytest.raises(NotProved, match="3 episodes of game:GuessTheNumber-v0-easy, and the certificate 4"):
        check(certificate, records[:4] + records[5:])
    with pytest.raises(NotProved, match="two episodes with the index 4"):
        check(certificate, [*records, records[4]])
    with pytest.raises(NotProved, match="no episodes of game:Wordle-v0"):
        check(certificate, [*records, *play(["game:Wordle-v0"], seeds=1)])
    later = replace(records[0], identity=replace(records[0].identity, env_version=7))
    with pytest.raises(NotProved, match="version 7, and the certificate 1"):
        check(certificate, [later, *records[1:]])


def test_a_site_that_signs_other_numbers_than_its_episodes_give_is_contradicted(records: list[EpisodeRecord]) -> None:
    honest = certify(records)
    first = honest.environments[0]
    for change in ({"solved": first.solved + 1}, {"failed": 1}, {"seeds": 3}):
        wrong = first.model_copy(update=change)
        with pytest.raises(NotProved, match=f"says {next(iter(change))}"):
            check(honest.model_copy(update={"environments": (wrong, *honest.environments[1:])}), records)
    mean = first.mean_return.model_copy(update={"mean": first.mean_return.mean + 0.001})
    better = first.model_copy(update={"mean_return": mean})
    with pytest.raises(NotProved, match="says that the mean return is"):
        check(honest.model_copy(update={"environments": (better, *honest.environments[1:])}), records)
    with pytest.raises(NotProved, match="contradicts itself"):
        check(honest.model_copy(update={"row_digest": "0" * 64}), records)


def test_unanswered_episodes_count_with_the_return_that_the_certificate_says(records: list[EpisodeRecord]) -> None:
    own = deepcopy(records[:4])
    own[0].terminated = own[0].truncated = False
    own[0].success, own[0].failure, own[0].failed_by = None, "No answer.", "agent"
    certificate = certify(own)
    environment = certificate.environments[0].model_copy(
        update={
            "seeds": 4,
            "unanswered_return": -1.0,
            "mean_return": certificate.environments[0].mean_return.model_copy(
                update={"mean": (sum(one.total_reward for one in own[1:]) - 1.0) / 4}
            ),
        }
    )
    assert check(certificate.model_copy(update={"environments": (environment,)}), own) == 4
    uncounted = environment.model_copy(update={"unanswered_return": None})
    with pytest.raises(NotProved, match="seeds 4, and the episodes 3"):
        check(certificate.model_copy(update={"environments": (uncounted,)}), own)


def test_some_episodes_are_proved_without_the_others(records: list[EpisodeRecord], certificate: Certificate) -> None:
    proofs = inclusions(map(leaf_of, records), [(ENV_IDS[1], 5), (ENV_IDS[2], 8)])
    some = [
        StoredEpisode(str(index), "random", records[index], inclusion=json.loads(json.dumps(proof._asdict())))
        for (_, index), proof in proofs.items()
    ]
    assert check_episodes(certificate, lambda: some) == 2
    changed = deepcopy(some[0].record)
    changed.turns[0] = replace(changed.turns[0], reward=1.0)
    with pytest.raises(NotProved, match="does not show that the row has this episode"):
        check_episodes(certificate, lambda: [replace(some[0], record=changed)])
    with pytest.raises(NotProved, match="changed after its digest was written"):
        check_episodes(certificate, lambda: [replace(some[0], record=changed, digest=episode_digest(some[0].record))])


# ------------------------------------------------------------------ the command line


class Files:
    def __init__(self, folder: Path, records: list[EpisodeRecord]) -> None:
        self.certificate, self.episodes, self.key = folder / "c.json", folder / "e.jsonl", folder / "key.pem"
        self.certificate.write_text(json.dumps(sign(certify(records), KEY)), "utf-8")
        self.episodes.write_text(lines(records), "utf-8")
        self.key.write_bytes(KEY.public.pem)


@pytest.fixture
def files(tmp_path: Path, records: list[EpisodeRecord], monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Files(tmp_path, records)


def verify(*arguments: object) -> int:
    try:
        return main(["verify", *map(str, arguments)])
    except SystemExit as stopped:
        return int(stopped.code or 0)


def test_a_certificate_is_verified_with_a_file_or_text(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(files.certificate, "--key", files.key) == 0
    printed = capsys.readouterr().out
    assert f"Signed by the key {KEY.public.id} of {SITE} (from the file {files.key}), 2026-06-01." in printed
    assert "random: 12 episodes, hosted." in printed
    assert "Score 0.250 (95 % interval 0.125 to 0.500)." in printed
    assert "Nothing here proves anything against the one who runs the site." in printed
    assert verify(files.certificate, files.episodes, "--key", KEY.public.base64, "--execute") == 0
    printed = capsys.readouterr().out
    assert "All 12 episodes are those of the certificate, and its means follow from them." in printed
    assert "12 of 12 episodes executed again with the same result." in printed


def test_episodes_that_failed_at_once_are_counted_apart(
    tmp_path: Path, records: list[EpisodeRecord], capsys: pytest.CaptureFixture[str]
) -> None:
    ended = {"turns": [], "terminated": False, "truncated": False, "success": None}
    failed = replace(records[0], **ended, failure="No answer.", failed_by="agent")
    files = Files(tmp_path, [failed, *records[1:]])
    assert verify(files.certificate, files.episodes, "--key", files.key, "--execute") == 0
    printed = capsys.readouterr().out
    assert "11 of 11 episodes executed again with the same result." in printed
    assert "1 episode not executed: it failed before its first turn." in printed


def test_what_is_not_proved_ends_with_1(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    other = SigningKey.generate().public.base64
    assert verify(files.certificate, "--key", other) == 1
    assert "NOT PROVED. The certificate is signed with the key" in capsys.readouterr().out
    text = files.episodes.read_text("utf-8")
    files.episodes.write_text(text.replace("GuessTheNumber", "Wordle", 1), "utf-8")
    assert verify(files.certificate, files.episodes, "--key", files.key) == 1
    assert "NOT PROVED. line 5, game:Wordle-v0-easy, seed 100: the certificate has no" in capsys.readouterr().out


def test_bad_input_ends_with_2_and_a_sentence(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    empty = files.key.with_name("empty.json")
    empty.write_text("{}", "utf-8")
    for arguments, sentence in [
        ((files.certificate,), f"No key of {SITE} is pinned here"),
        ((files.certificate, "--pin"), "--pin keeps the keys of a site"),
        ((files.certificate, "--key", "missing.pem"), "There is no file missing.pem."),
        ((files.certificate, "--key", files.episodes), "no public key in the format PEM"),
        ((files.certificate, "--key", "http://gemweb.example"), "fetched over https only"),
        ((files.certificate, "--key", files.key, "--execute"), "Name the file of the episodes"),
        ((files.certificate, empty, "--key", files.key), "is neither an episode nor a turn"),
        ((files.certificate, files.key.with_name("none"), "--key", files.key), "cannot be read"),
        ((empty, "--key", files.key), "This is no certificate"),
    ]:
        assert verify(*arguments) == 2
        captured = capsys.readouterr()
        assert sentence in captured.err
        assert captured.err.startswith("gemweb verify: ")
        assert "Traceback" not in captured.err


@pytest.fixture
def site() -> Iterator[tuple[str, dict[str, bytes]]]:
    pages: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path in pages else 404)
            self.end_headers()
            self.wfile.write(pages.get(self.path, b""))

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", pages
    server.shutdown()
    server.server_close()


def test_the_keys_of_a_site_are_fetched_and_pinned(
    files: Files, site: tuple[str, dict[str, bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    url, pages = site
    assert verify(files.certificate, "--key", url) == 2
    assert "has no list of keys: the answer was 404." in capsys.readouterr().err
    pages[WELL_KNOWN] = b"[" * 200_000
    assert verify(files.certificate, "--key", url) == 2
    pages[WELL_KNOWN] = SiteKeys.first(SITE, KEY.public, NOON).model_dump_json().encode()
    assert verify(files.certificate, "--key", url) == 0
    assert verify(files.certificate) == 2
    assert verify(files.certificate, "--key", url, "--pin") == 0
    pages.clear()
    capsys.readouterr()
    assert verify(files.certificate) == 0
    assert f"the list of keys of {SITE} that is pinned here" in capsys.readouterr().out


def test_a_site_that_is_not_there_ends_with_3(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(files.certificate, "--key", "http://127.0.0.1:9") == 3
    assert "No connection to http://127.0.0.1:9" in capsys.readouterr().err
