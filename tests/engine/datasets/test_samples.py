"""The built-in samples: large enough, well formed, made by the templates beside them, with answers that hold."""

import json
from itertools import product
from pathlib import Path

import pytest

import gem
from gem.datasets import load
from gem.datasets.names import NAMED_DATASETS
from gem.datasets.ruletaker import DEPTHS, NAMES, Implication, derive, problem
from gem.datasets.samples import FOLDER, names
from gem.grading.math import alternatives, is_correct
from gem.rng import SplitMix64
from gem.views.images import media_type
from tools.samples import __main__ as write
from tools.samples import school


@pytest.mark.parametrize("env_id", list(NAMED_DATASETS))
def test_every_dataset_of_gem_has_at_least_fifty_problems_here_and_says_whose_they_are(env_id: str) -> None:
    data = load(f"sample:{NAMED_DATASETS[env_id].sample}")
    assert len(data) >= 50
    spec = gem.spec(env_id)
    assert "until the data are there" in spec.summary
    env = gem.make(env_id)
    _, info = env.reset(seed=0)
    assert info["data"]["source"].startswith("built-in ")
    assert info["data"]["sha256"] == env.data_hash == data.sha256


@pytest.mark.parametrize("name", [*write.MATH, *write.QA])
def test_the_files_are_what_the_templates_make(name: str) -> None:
    rows = write.mathematics(name) if name in write.MATH else write.asked(name)
    made = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8") == made, "run python -m tools.samples"


def test_the_programs_are_what_the_problems_make() -> None:
    made = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in write.programming())
    assert (FOLDER / "code.jsonl").read_text(encoding="utf-8") == made, "run python -m tools.samples"


@pytest.mark.parametrize("name", write.OF_PAGES)
def test_the_questions_of_pages_are_split_by_page(name: str) -> None:
    rows = write.of_pages(**write.OF_PAGES[name])
    assert list(load(f"sample:{name}")) == rows, "run python -m tools.samples"
    others = write.of_pages(held_out=not write.OF_PAGES[name]["held_out"])
    assert not {row["supporting_titles"][0] for row in rows} & {row["supporting_titles"][0] for row in others}
    assert not {row["question"] for row in rows} & {row["question"] for row in others}
    assert len(rows) >= 40


def test_the_samples_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*.jsonl")) < 400_000
    assert set(write.MATH) | set(write.QA) | {"geometry3k"} <= set(names())


@pytest.mark.parametrize("name", [*write.MATH, "geometry3k"])
def test_every_reference_is_a_correct_answer_to_itself(name: str) -> None:
    for row in load(f"sample:{name}"):
        for reference in alternatives(row["answer"]):
            assert is_correct(reference, row["answer"]), row


def test_no_problem_is_there_twice() -> None:
    for path in FOLDER.glob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        keys = [json.dumps(row.get("images") or row.get("problem") or row["question"]) for row in rows]
        assert len(set(keys)) == len(keys), path.name


def test_the_answers_of_aime_are_three_digits() -> None:
    for row in load("sample:aime24"):
        assert len(row["answer"]) == 3
        assert 0 <= int(row["answer"]) <= 999


def test_the_drawings_are_small_png_files() -> None:
    from base64 import b64decode

    for row in load("sample:geometry3k"):
        (address,) = row["images"]
        content = b64decode(address.removeprefix("data:image/png;base64,"))
        assert media_type(content) == "image/png"
        assert len(content) < 3000


def test_sums_and_sines_of_the_templates_are_right() -> None:
    import math

    for number in range(60):
        made = school.trigonometry(SplitMix64(number))
        name, angle = made.problem.removeprefix("Compute $\\").removesuffix("^\\circ$.").split(" ")
        value = getattr(math, name)(math.radians(int(angle)))
        assert is_correct(f"{value:.9f}", str(made.answer)), made


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_world_needs_at_most_so_many_steps_and_answers_are_balanced(depth: int) -> None:
    rows = [problem(depth, number) for number in range(300)]
    assert rows == [problem(depth, number) for number in range(300)]
    assert {row["depth"] for row in rows} == set(range(depth + 1))
    assert 0.4 < sum(row["answer"] == "True" for row in rows) / 300 < 0.6
    assert len({row["question"] for row in rows}) == 300


def test_a_small_world_by_hand() -> None:
    rules = [
        Implication(("kind",), (), "nice"),
        Implication(("nice",), ("cold",), "calm"),
        Implication(("calm",), (), "wise", person="Anne"),
    ]
    found = derive({("Anne", "kind"), ("Bob", "kind"), ("Bob", "cold")}, rules, ["Anne", "Bob"])
    assert found == {
        ("Anne", "kind"): 0, ("Bob", "kind"): 0, ("Bob", "cold"): 0, ("Anne", "nice"): 1, ("Bob", "nice"): 1,
        ("Anne", "calm"): 2, ("Anne", "wise"): 3,
    }  # fmt: skip


def test_a_negative_statement_is_answered_by_the_opposite() -> None:
    seen = set()
    for depth, number in product((1, 3), range(80)):
        row = problem(depth, number)
        statement = row["question"].rpartition("Statement: ")[2]
        assert statement.split()[0] in NAMES
        seen.add((" not " in statement, row["answer"]))
    assert len(seen) == 4


def test_the_writer_makes_all_files_anew(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    write.main(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.jsonl" for name in (*write.MATH, *write.QA, *write.OF_PAGES, "geometry3k", "code")
    }
