"""Files of benchmarks: what is wrong with one is said all at once, and those of ours say the truth."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gem import benchmarks
from gem.benchmarks import Reference, document, scales
from gem.check import benchmark_file
from gem.errors import InvalidArgument
from gem.evaluation.data import not_as_ranked
from gem.evaluation.spec import EvaluationSpec
from tests.engine.cli.conftest import Run, run

__all__ = ["run"]

SOKOBAN = "game:Sokoban-v0-easy"
GOLD = {"name": "gold", "version": 1}
WRITTEN = [name for name in benchmarks.names() if name != "games"]
"""All but the first, whose form is older."""


def of(name: str) -> Any:
    """The document of a benchmark of ours."""
    return document.parse(benchmarks.text_of(name))


def changed(name: str = "games-easy", of_env: str = SOKOBAN, **fields: Any) -> Any:
    """A document of ours in which one environment has other fields."""
    data = of(name)
    chosen = [entry for entry in data["entries"] if entry["env_id"] == of_env]
    for entry in chosen:
        entry.update(fields)
    return data


@pytest.mark.parametrize("name", WRITTEN)
def test_nothing_is_wrong_with_ours(name: str) -> None:
    data = of(name)
    assert data["name"] == name
    assert benchmark_file.problems(data) == []


def test_everything_that_is_wrong_is_said_at_once(run: Run, tmp_path: Path) -> None:
    data = changed(version=0, practice_seeds=[9, 3], hidden_sseds=4, random={"mean": 2, "low": 0, "high": 1, "n": 5})
    data |= {"name": "Games!", "title": " ", "colour": 1}
    del data["summary"]
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(data), "utf-8")
    code, out, err = run("benchmark", "check", file)
    assert (code, err) == (1, "")
    for sentence in (
        'name has to be 1 to 60 small letters, digits and hyphens, not "Games!".',
        'title has to be a text that is not empty, not " ".',
        "summary is missing. It has to be a text that is not empty.",
        "there is no field 'colour'. There are name,",
        f"{SOKOBAN}: version has to be a whole number from 1 on, not 0.",
        f"{SOKOBAN}: practice_seeds has to be the first and the last seed",
        f"{SOKOBAN}: there is no field 'hidden_sseds'. Did you mean hidden_seeds?",
        f"{SOKOBAN}: random: the mean 2 is not between low, 0, and high, 1.",
        "8 problems.",
    ):
        assert sentence in out, sentence


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (lambda: of("duel") | {"entries": []}, "A benchmark has 1 to 300 environments, not 0."),
        (lambda: of("games-easy") | {"members": [{"name": "duel", "version": 1}]}, "either entries, which are"),
        (lambda: of("gem-suite-sample") | {"name": "all", "members": [GOLD]}, "There is no benchmark 'gold'"),
        (lambda: of("gem-suite-sample") | {"members": [{"name": "math-sample", "version": 9}]}, "version 1, not 9."),
        (lambda: of("gem-suite-sample") | {"name": "gem-suite"}, "call it gem-suite-sample."),
        (lambda: of("math-sample") | {"name": "math"}, "cannot rank as that: call it math-sample"),
        (lambda: of("duel") | {"name": "duel-sample"}, "none of its data says what it stands in for"),
        (lambda: changed(version=2), "is about version 2, and here it has version 1."),
        (lambda: changed(max_turns=21), "a limit of 21 turns, and the environment has 20."),
        (lambda: changed(anchor={"by": "best possible", "mean": 1}), "there is an expert, so its mean return is"),
        (lambda: changed("reasoning", "rg:ab", anchor={"by": "best possible", "mean": 2}), "is 1, not 2."),
        (lambda: changed(random={"mean": 0.9, "low": 0.8, "high": 1, "n": 9}), "0.355 was measured in 500 episodes"),
        (lambda: changed(data={"name": "boards", "hash": "1", "licence": "MIT"}), 'it has no data: leave "data" out.'),
        (lambda: changed(hidden_seeds=0), "it has no hidden seeds"),
        (lambda: changed(env_id="duel:TicTacToe-v0"), "Name an id with an opponent"),
        (lambda: changed(env_id="game:Sokobann-v0"), "Did you mean game:Sokoban-v0"),
        (lambda: changed("math-sample", "eval:AMC", hidden_seeds=5), "so there are no hidden seeds: say 0."),
        (lambda: changed("math-sample", "eval:AMC", practice_seeds=[0, 99]), "some would be played twice."),
        (lambda: of("duel") | {"tools": [["hammer"]]}, "There is no tool 'hammer'."),
        (lambda: of("duel") | {"wrappers": [{"name": "scale_reward"}]}, "Evaluations have no wrapper"),
        (lambda: [1], "A benchmark is a JSON object"),
        (lambda: of("games"), "This is the form of the first benchmark."),
    ],
)  # fmt: skip
def test_what_is_not_true_is_said_in_a_sentence(data: Callable[[], Any], sentence: str) -> None:
    found = benchmark_file.problems(data())
    assert sentence in " ".join(found), found


def test_labels_and_names_that_data_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    data = of("math-sample")
    for entry in data["entries"]:
        del entry["open_set"]
        del entry["data"]["stands_in_for"]
    data["name"] = "math"
    found = " ".join(benchmark_file.problems(data))
    assert found.count('say "open_set": "public data"') == len(data["entries"])
    assert found.count("its data are the built-in sample") == len(data["entries"])
    data = changed("games-easy", "game:TowerofHanoi-v0-easy")
    for entry in data["entries"]:
        entry.pop("open_set", None)
    assert "game:TowerofHanoi-v0-easy: it has 1 start, so hidden seeds hide little" in " ".join(
        benchmark_file.problems(data)
    )


@pytest.mark.parametrize("text", ["", "{", "[" * 5000, '{"name": "a", "name": "b"}', "NaN"])
def test_what_is_no_document_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(text, "utf-8")
    code, out, err = run("benchmark", "check", file)
    assert (code, err) == (1, "")
    assert out


def test_what_cannot_be_read_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\xff\xd8\xff")
    for file, sentence in ((tmp_path / "nothing", "cannot be read: No such file"), (tmp_path / "picture", "UTF-8")):
        code, _, err = run("benchmark", "check", file)
        assert code == 2
        assert sentence in err


def test_an_anchor_close_to_random_is_refused_and_enough_seeds_are_named() -> None:
    """Kuhn Poker: the expert is 0.075 above the random agent, and a return varies by 0.7."""
    kuhn = {
        "env_id": "duel:KuhnPoker-v0-vs-expert", "version": 1, "max_turns": 6, "practice_seeds": [1000, 1049],
        "hidden_seeds": 50, "random": {"mean": -0.09, "low": -0.149, "high": -0.028, "n": 500},
        "anchor": {"by": "expert", "mean": -0.015, "low": -0.074, "high": 0.043, "n": 500}, "open_set": "few cards",
    }  # fmt: skip
    data = of("duel") | {"entries": [kuhn]}
    (sentence,) = benchmark_file.problems(data)
    assert "so a score would be noise" in sentence
    enough = int(sentence.partition("play ")[2].split()[0].replace(",", ""))
    assert 50 < enough < 1000
    assert benchmark_file.problems(data | {"entries": [kuhn | {"hidden_seeds": enough}]}) == []
    assert benchmark_file.problems(data | {"entries": [kuhn | {"hidden_seeds": enough - 2}]})


def test_a_mean_is_clipped_and_not_its_episodes() -> None:
    assert scales.score(0.25, 0.0, 0.5) == 0.5
    assert scales.score(-3.0, 0.0, 0.5) == 0.0
    assert scales.score(0.9, 0.0, 0.5) == 1.0
    assert scales.score(-3.0, 0.0, 0.5, "unclipped") == -6.0
    entry = benchmarks.load("games-easy").entry(SOKOBAN)
    returns = [entry.random_return - 1, entry.best_return + 1]
    clipped_each = [scales.clip(entry.normalize(value)) for value in returns]
    assert entry.score(sum(returns) / 2) == pytest.approx(0.5) == sum(clipped_each) / 2
    assert entry.score(sum([*returns, returns[0]]) / 3) == 0.0
    assert benchmarks.load("games").entry(SOKOBAN).score(0.0) < 0, "rows of the first benchmark stay as they are"


def test_the_distance_of_an_anchor_is_in_standard_errors() -> None:
    random = Reference("random", 0.2, 0.2 - 0.196, 0.2 + 0.196, 100)
    assert random.standard_error(100) == pytest.approx(0.1, abs=1e-4)
    assert random.standard_error(25) == pytest.approx(0.2, abs=1e-4)
    best = Reference("best possible", 1.0, 1.0, 1.0)
    assert scales.distance(random, best, 100) == pytest.approx(8.0, abs=0.01)
    assert scales.distance(Reference("random", 0, 0, 0, 9), best, 9) == float("inf")
    assert scales.distance(best, best, 9) == 0


def test_the_order_begins_with_the_first_benchmark_and_ends_with_unions() -> None:
    names = benchmarks.names()
    assert names[:3] == ["games-easy", "games-hard", "games"]
    assert names[-1] == "gem-suite-sample"
    found = benchmarks.ranking(SOKOBAN, 1000)
    assert found is not None
    assert found.name == "games"
    with pytest.raises(InvalidArgument, match=r"The real data of math are not ranked here\. There is math-sample"):
        benchmarks.load("math")


def test_a_union_has_the_environments_of_its_members() -> None:
    suite = benchmarks.load("gem-suite-sample")
    parts = [entry for name, _ in suite.members for entry in benchmarks.load(name).entries]
    assert list(suite.entries) == parts
    spec = EvaluationSpec(agent="random", benchmark=suite.name)
    assert [(part.env_id, part.first_seed, part.episodes) for part in spec.parts] == [
        (entry.env_id, entry.first_seed, entry.episodes) for entry in parts
    ]


def test_an_earlier_version_is_still_played_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "earlier").mkdir()
    former = of("duel")
    present = former | {"version": 2, "entries": former["entries"][:1]}
    (tmp_path / "duel.json").write_text(json.dumps(present), "utf-8")
    (tmp_path / "earlier" / "duel-v1.json").write_text(json.dumps(former), "utf-8")
    stored = EvaluationSpec(agent="random", benchmark="duel").model_dump(mode="json")
    monkeypatch.setattr(benchmarks, "_folder", lambda: tmp_path)
    monkeypatch.setattr(benchmarks, "_load", benchmarks._load.__wrapped__)
    monkeypatch.setattr(benchmarks, "_earlier", benchmarks._earlier.__wrapped__)
    monkeypatch.setattr(benchmarks, "_is_union", benchmarks._is_union.__wrapped__)
    again = EvaluationSpec.model_validate(stored)
    assert not again.is_current
    assert [part.env_id for part in again.parts] == [entry["env_id"] for entry in former["entries"]]
    assert len(EvaluationSpec(agent="random", benchmark="duel").parts) == 1
    assert benchmarks.earlier("duel", 7) is None


def test_the_choices_of_tools_are_those_of_the_file() -> None:
    for tools in ((), ("python",), ("search:wikigame",), ("mcp:time",)):
        assert EvaluationSpec(agent="random", benchmark="tools-sample", tools=tools).tools == tools
    with pytest.raises(ValidationError, match="one of these choices of tools: no tools; python; search:wikigame; mcp"):
        EvaluationSpec(agent="random", benchmark="tools-sample", tools=("python", "search:wikigame"))


def test_a_benchmark_may_have_wrappers(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = document.read(of("duel") | {"wrappers": [{"name": "compact"}]})
    monkeypatch.setattr(benchmarks, "load", {"duel": wrapped}.__getitem__)
    spec = EvaluationSpec(agent="random", benchmark="duel")
    assert spec.all_wrappers == [{"name": "compact"}]
    assert EvaluationSpec.model_validate_json(spec.model_dump_json()) == spec
    with pytest.raises(ValidationError, match="without further wrappers"):
        EvaluationSpec(agent="random", benchmark="duel", wrappers=({"name": "concat"},))


def test_data_of_ones_own_do_not_count_as_the_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    benchmark = benchmarks.load("math-sample")
    monkeypatch.setenv("GEM_DATA", str(tmp_path))
    monkeypatch.setenv("GEM_DATA_FROM", "folder")
    assert not_as_ranked(benchmark) == []
    folder = tmp_path / "eval"
    folder.mkdir()
    (tmp_path / "eval" / "AMC.jsonl").write_text('{"problem": "1 + 1?", "answer": "2"}\n', "utf-8")
    (sentence,) = not_as_ranked(benchmark)
    assert sentence.startswith("math-sample ranks eval:AMC on the built-in sample amc, and here it would be played on")
    assert not_as_ranked(benchmarks.load("duel")) == []


def test_the_commands_show_what_there_is(run: Run) -> None:
    code, out, _ = run("benchmark", "list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == benchmarks.names()
    for name in benchmarks.names():
        code, out, _ = run("benchmark", "show", name)
        assert code == 0
        assert all(env_id in out for env_id in benchmarks.load(name).env_ids)
    assert run("benchmark", "check", "games-easy").out.endswith("Nothing is wrong with it.\n")
    assert run("benchmark", "show", "golf").code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ('{"a": 1, "a": 2}', "there twice"),
        ("[" * 200_000, "nested too deeply"),
        ("9" * 5000, "thousands of digits"),
    ],
)
def test_a_text_that_is_no_document_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        document.parse(text)
