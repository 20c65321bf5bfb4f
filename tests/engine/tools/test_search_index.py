"""An index of passages on disk."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gem
from gem.cli import main
from gem.errors import InvalidArgument, VersionChanged
from gem.records import TurnRecord
from gem.replay import verify
from gem.rollout import EpisodeRequest, rollout
from gem.tools.search import index as search_index
from gem.tools.search_tool import SearchTool
from tests.engine.tools.script import Script
from tests.packages import skip_without

skip_without("bm25s", "Stemmer")

PASSAGES = [
    {"title": "Tokyo", "text": "Tokyo is the capital of Japan."},
    {"title": "Kyoto", "text": "Kyoto was the capital of Japan for a thousand years."},
    {"id": "3", "contents": "Bern\nBern is the seat of the Swiss government.\nIt lies on the Aare."},
    {"text": "A passage about running runners who ran."},
    {"title": "Twin", "text": "identical words here"},
    {"title": "Twin again", "text": "identical words here"},
]
GUESS = "game:GuessTheNumber-v0-easy"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the indexes of a test lie."""
    monkeypatch.setenv("GEM_INDEXES", str(tmp_path / "indexes"))
    monkeypatch.delenv("SEARCH_URL", raising=False)
    monkeypatch.delenv("GEM_SEARCH_INDEX", raising=False)
    return tmp_path


def corpus(folder: Path, rows: list[Any] = PASSAGES, name: str = "towns.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def built(folder: Path, rows: list[Any] = PASSAGES, name: str = "towns", **more: Any) -> search_index.Index:
    return search_index.build(corpus(folder, rows), search_index.folder_of(name), **more)


def test_the_best_passage_comes_first(folder: Path) -> None:
    index = built(folder)
    found = index.search("What is the capital of Japan?", 2)
    assert {passage.title for passage in found} == {"Tokyo", "Kyoto"}
    assert found[0].score >= found[1].score > 0
    assert index.search("Swiss seat", 3)[0] == (
        "Bern",
        "Bern is the seat of the Swiss government.\nIt lies on the Aare.",
        pytest.approx(index.search("Swiss seat", 3)[0].score),
    )


def test_words_are_found_by_their_stem(folder: Path) -> None:
    assert built(folder).search("runner", 1)[0].text.startswith("A passage about running")


def test_equal_scores_keep_the_order_of_the_corpus(folder: Path) -> None:
    index = built(folder, [{"title": str(i), "text": "the same rare word"} for i in range(20)])
    assert [passage.title for passage in index.search("rare", 5)] == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("query", ["", "zzzz qqqq", "the of and", "\0\ud800", "?" * 100_000])
def test_a_query_without_known_words_finds_nothing(folder: Path, query: str) -> None:
    assert built(folder).search(query, 3) == []


def test_more_passages_than_fit_are_not_made_up(folder: Path) -> None:
    assert len(built(folder).search("capital", 100)) == 2


def test_an_index_is_opened_once_and_its_arrays_are_mapped(folder: Path) -> None:
    built(folder)
    index = search_index.open_index("towns")
    assert search_index.open_index("towns") is index
    assert isinstance(index._bm25.scores["data"].base, np.memmap)
    assert len(index) == len(PASSAGES)


def test_threads_find_the_same(folder: Path) -> None:
    index = built(folder)
    wanted = [index.search(word, 3) for word in ("capital", "seat", "running", "identical")]
    found: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: found.append([index.search(w, 3) for w in ("capital", "seat", "running", "identical")])
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 8


def test_the_fingerprint_follows_the_corpus(folder: Path) -> None:
    first = built(folder)
    assert built(folder, name="again").fingerprint == first.fingerprint
    other = built(folder, [*PASSAGES, {"text": "one more"}], name="more")
    assert other.fingerprint != first.fingerprint
    assert other.manifest["corpus_sha256"] != first.manifest["corpus_sha256"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is no passage"),
        ("[1]", "no JSON object"),
        ('{"title": "x"}', "neither a text nor contents"),
        ('{"text": 3}', "neither"),
    ],
)
def test_a_bad_line_is_named_and_no_index_is_left(folder: Path, line: str, said: str) -> None:
    path = folder / "bad.jsonl"
    path.write_text(f'{{"text": "good"}}\n{line}\n')
    with pytest.raises(InvalidArgument, match=said):
        search_index.build(path, search_index.folder_of("bad"))
    assert list((folder / "indexes").iterdir()) == []


def test_half_of_a_surrogate_pair_does_not_keep_a_corpus_from_being_indexed(folder: Path) -> None:
    path = folder / "cut.jsonl"
    path.write_text('{"title": "Smile \\ud83d", "text": "cut in the middle of a smile\\ude00"}\n')
    (found,) = search_index.build(path, search_index.folder_of("cut")).search("smile", 3)
    assert found[:2] == ("Smile ?", "cut in the middle of a smile?")


def test_a_corpus_without_a_word_to_search_for_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = corpus(folder, [{"title": "A", "text": "the of and"}])
    assert main(["index", "build", str(path)]) == 2
    assert "no word to search for" in capsys.readouterr().err
    assert not search_index.indexes()


def test_an_index_is_replaced_only_when_asked_and_never_something_else(folder: Path) -> None:
    built(folder)
    with pytest.raises(InvalidArgument, match="--replace"):
        built(folder)
    assert built(folder, [{"text": "new"}], replace=True).search("new", 1)
    foreign = folder / "foreign"
    foreign.mkdir()
    (foreign / "letter.txt").write_text("dear")
    with pytest.raises(InvalidArgument, match="left alone"):
        search_index.build(corpus(folder), foreign, replace=True)
    assert (foreign / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize("name", ["../etc", "A B", "", "-x"])
def test_a_name_is_a_name(name: str) -> None:
    with pytest.raises(InvalidArgument):
        search_index.open_index(name)


def test_a_missing_or_older_index_says_what_to_do(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="gemweb index build"):
        search_index.open_index("none")
    built(folder)
    (search_index.folder_of("towns") / "manifest.json").write_text('{"format": 0}')
    with pytest.raises(InvalidArgument, match="build it again"):
        search_index.open_index("towns")


def test_the_pages_of_wikigame_can_be_searched_as_they_come() -> None:
    index = search_index.open_index(search_index.BUNDLED)
    assert index is search_index.open_index("wikigame")
    assert index.search("capital of Egypt", 3)[0].title in ("Cairo", "Egypt")
    with pytest.raises(InvalidArgument, match="comes with gem"):
        search_index.build(Path("x"), search_index.folder_of("wikigame"))


# ------------------------------------------------------------------ as a tool


def test_the_tool_answers_in_gems_form(folder: Path) -> None:
    built(folder)
    valid, error, told, parsed = SearchTool(index="towns", topk=1).execute_action(
        "I ask <search> Swiss seat </search> now"
    )
    assert (valid, error, parsed) == (True, False, "I ask <search> Swiss seat </search>")
    assert told == (
        "\n\n<information>Doc 1(Title: Bern) Bern is the seat of the Swiss government.\nIt lies on the Aare.\n"
        "</information>\n\n"
    )


def test_an_index_may_come_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(folder)
    monkeypatch.setenv("GEM_SEARCH_INDEX", "towns")
    assert "Tokyo" in SearchTool().execute_action("<search>Tokyo</search>")[2]


def test_without_anything_to_search_no_episode_begins() -> None:
    env = gem.make(GUESS, tools=["search"])
    with pytest.raises(gem.errors.EnvironmentFailure, match="GEM_SEARCH_INDEX"):
        env.reset(seed=1)
    env = gem.make(GUESS, tools=[{"name": "search", "index": "none"}])
    with pytest.raises(gem.errors.EnvironmentFailure, match="gemweb index build"):
        env.reset(seed=1)


def test_a_recorded_search_is_repeated_by_the_index_it_was_made_in(folder: Path) -> None:
    built(folder)
    wrappers = [{"name": "tools", "tools": [{"name": "search", "index": "towns"}]}]
    script = Script("<search>capital</search>", "no action")
    [record] = rollout(script, [EpisodeRequest(0, GUESS, seed=7, wrappers=wrappers)])
    assert verify(record.identity, record.turns) is None
    turn = record.turns[0]
    info = json.loads(json.dumps(turn.info).replace("Tokyo is", "Tokyo was"))
    forged = TurnRecord(turn.action, turn.observation.replace("Tokyo is", "Tokyo was"), turn.reward, info, turn.seat)
    assert verify(record.identity, [forged, *record.turns[1:]]) is not None
    built(folder, [*PASSAGES, {"text": "more"}], replace=True)
    with pytest.raises(VersionChanged, match="other data"):
        verify(record.identity, record.turns)


# ------------------------------------------------------------------ the command


def test_the_command_builds_lists_and_searches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "list"]) == 0
    assert "wikigame" in capsys.readouterr().out
    assert main(["index", "build", str(corpus(folder))]) == 0
    assert "6 passages" in capsys.readouterr().out
    assert main(["index", "list"]) == 0
    assert "towns" in capsys.readouterr().out
    assert main(["index", "search", "towns", "Swiss", "seat", "--topk", "1"]) == 0
    assert capsys.readouterr().out.startswith("1. Bern")
    assert main(["index", "build", str(corpus(folder))]) == 2
    assert "--replace" in capsys.readouterr().err
    assert main(["index", "build", str(folder / "nowhere.jsonl"), "--name", "x"]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "Who wrote about the running of runners?",
        "x a I 42 4 don't co-operate U.S.A. naïve Straße ÉTÉ snake_case",
        "東京 は 日本の首都 Ещё ١٢٣ \u2160\u0301 İstanbul",
        "the and of to",
        "",
        "tab\tnew\nline\x00nul \ud800half",
    ],
)
def test_a_query_has_the_words_that_an_indexed_text_has(text: str) -> None:
    words = search_index._tokenize([text])[0]
    assert sorted(search_index._stems(text)) == sorted(words)
