"""What counts as a correct answer to a mathematical problem."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gem.datasets import load
from gem.errors import MissingDependency
from gem.grading import formula, judge, latex
from gem.grading.math import alternatives, grade, is_correct
from tests.packages import skip_without

skip_without("math_verify")
ROOT = Path(__file__).parents[3]

RIGHT = [
    ("7", "7"), ("+7", "7"), ("7.0", "7"), ("007", "7"), ("$7$", "7"), ("7.", "7"), ("-3", "−3"), ("1,234", "1234"),
    ("1{,}234", "1234"), ("12{,}345{,}678", "12345678"), ("\\$32,\\!348", "32348"), ("2e3", "2000"),
    ("\\frac{1}{2}", "0.5"), ("1/2", "\\dfrac12"), ("\\frac{2}{4}", "\\frac{1}{2}"), ("-\\frac{3}{4}", "\\frac{-3}{4}"),
    ("3\\frac{1}{2}", "3.5"), ("0.333333", "\\frac{1}{3}"), ("1.414214", "\\sqrt{2}"), ("\\sqrt{8}", "2\\sqrt{2}"),
    ("\\frac{\\sqrt{2}}{2}", "\\frac{1}{\\sqrt{2}}"), ("2^{10}", "1024"), ("\\sqrt[3]{-8}", "-2"), ("5!", "120"),
    ("\\binom{5}{2}", "10"), ("2\\pi", "\\pi+\\pi"), ("pi/4", "\\frac{\\pi}{4}"), ("\\log_2 8", "3"), ("\\ln e^2", "2"),
    ("\\sin\\frac{\\pi}{6}", "\\frac12"), ("10 \\times 2", "20"), ("3.83e35", "3.83 \\times 10^{35}"),
    ("x^2-1", "(x-1)(x+1)"), ("\\frac{x}{2}", "0.5x"), ("2n-2", "2(n-1)"), ("y=2x+1", "2x+1"), ("f(x)=2 x", "f(x)=x+x"),
    ("k=1", "1"), ("x_{1}+1", "1+x_1"), ("\\frac{(2n)!}{n! n!}", "\\binom{2n}{n}"), ("1+2i", "2i+1"),
    ("(1,2)", "(1, 2)"), ("\\left( 3, \\frac{\\pi}{2} \\right)", "(3,\\pi/2)"), ("[0,1)", "[0, 1)"), ("1,3,5", "5,3,1"),
    ("\\{1,2\\}", "\\{2,1\\}"), ("(-\\infty,0]", "(-\\infty, 0]"), ("(1,2),(3,4)", "(3,4),(1,2)"),
    ("(-\\infty,2)\\cup(3,\\infty)", "(3,\\infty)\\cup(-\\infty,2)"), ("x\\in[-2,7]", "[-2,7]"),
    ("\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix} 1 \\\\ \\frac{4}{2} \\end{pmatrix}"),
    ("5 \\text{ cm}", "5"), ("12 meters", "12"), ("90^\\circ", "90"), ("90°", "90"), ("50\\%", "50%"), ("50%", "0.5"),
    ("12.5", "12.5\\%"), ("\\$18.90", "18.9"), ("6 \\text{ cm}^2", "6"), ("17 \\text{ minutes}", "17"),
    ("\\text{Monday}", "monday"), ("Monday", "\\text{ Monday }"), ("\\text{(C)}", "C"), ("\\text{Evelyn}", "Evelyn"),
    ("52_8", "52_{8}"), ("3\\pm 2\\sqrt{2}", "3 \\pm 2\\sqrt{2}"),
]  # fmt: skip
WRONG = [
    ("8", "7"), ("-7", "7"), ("70", "7"), ("7.1", "7"), ("0.33", "\\frac{1}{3}"), ("1.41", "\\sqrt{2}"), ("1", "0"),
    ("\\frac{2}{3}", "\\frac{3}{2}"), ("2\\sqrt{3}", "3\\sqrt{2}"), ("\\pi", "3.14"), ("2^{1000}", "2^{1001}"),
    ("x^2+1", "x^2-1"), ("2n", "2m"), ("\\sqrt{x^2}", "x"), ("\\ln x^2", "2\\ln x + 1"), ("y=2x+1", "y=2x-1"),
    ("(2,1)", "(1,2)"), ("[1,2]", "(1,2)"), ("(1,2]", "[1,2)"), ("1,3", "1,3,5"), ("1,3,5,7", "1,3,5"),
    ("(0,1)", "(0,1),(1,0)"), ("\\{1,2\\}", "\\{1,3\\}"), ("(-\\infty,0)", "(-\\infty,0]"),
    ("(0,\\infty)", "(1,\\infty)"),
    ("5 \\text{ or } 6", "5"), ("east", "seat"), ("\\text{Tuesday}", "\\text{Monday}"), ("42", "\\text{Monday}"),
    ("B", "C"), ("52_8", "52_9"), ("I(0)x", "I(0)"), ("8.824 \\times 10^{-19}", "8.224 \\times 10^{-19}"),
    ("3.89e-40", "3.89e-10"), ("0.0000001", "0"), ("12102", "(12,102)"), ("", "0"), ("   ", "0"), ("1 or 2 or 3", "2"),
    ("I do not know", "5"), ("1/0", "5"), ("0/0", "0"), ("10^{20}+1", "10^{20}"), ("1 2", "12"),
    ("{}", "5"), ("}{", "5"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "reference"), RIGHT)
def test_what_is_the_same_is_correct(answer: str, reference: str) -> None:
    assert is_correct(answer, reference)
    assert is_correct(reference, reference)


@pytest.mark.parametrize(("answer", "reference"), WRONG)
def test_what_is_not_the_same_is_wrong(answer: str, reference: str) -> None:
    assert not is_correct(answer, reference)


@pytest.mark.parametrize(
    ("answer", "reference", "by"),
    [
        ("7", "8", "number"),
        ("1/2", "0.5", "number"),
        ("\\text{Monday}", "Monday", "text"),
        ("\\sqrt{8}", "2\\sqrt 2", "formula"),
        ("(x+1)^2", "x^2+2x+1", "formula"),
        ("x\\in[-2,7]", "[-2,7]", "judge"),
        ("", "7", "unread"),
        ("7" * 3000, "7", "unread"),
    ],
)
def test_most_answers_need_no_sympy(answer: str, reference: str, by: str) -> None:
    assert grade(answer, reference).by == by


def test_a_reference_may_be_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    assert alternatives(numpy.int64(5)) == alternatives(numpy.float64(5)) == alternatives(numpy.array([5])) == ["5"]
    assert is_correct("\\frac{1}{2}", numpy.float32(0.5))


def test_a_reference_may_be_a_number_or_several_texts() -> None:
    assert alternatives(142.0) == ["142"]
    assert alternatives(2.5) == ["2.5"]
    assert alternatives("['0.01\\n', '0.02\\n']") == ["0.01\n", "0.02\n"]
    assert alternatives("[1,2]") == ["[1,2]"]
    assert alternatives(Decimal("2.50")) == ["2.50"]  # type: ignore[arg-type]  # of a Parquet file
    assert alternatives(True) == ["True"]
    assert alternatives("['open") == ["['open"]
    assert is_correct("142", 142.0)
    assert is_correct("0.02", ["0.01\n", "0.02\n"])
    assert is_correct("$84,69$", ["$69$,$84$"])
    assert not is_correct("0.03", ["0.01\n", "0.02\n"])


NESTED = "(" * 900 + "x" + ")" * 900
HEAVY = [
    "9^{9^{9^{9^9}}}",
    "\\int_0^1 \\int_0^1 \\sin(x^x^x y^y) dx dy",
    "\\sum_{n=1}^{10^9} \\frac{1}{n^{n}}",
    NESTED,
    "\\frac{" * 200 + "1" + "}{2}" * 200,
    "(a+b+c+d+e+f+g+h)^{60}\\cup 1",
    "10^{10^{10}}!",
    "\\sqrt" * 300 + "{2}",
]


@pytest.mark.parametrize("reference", ["\\begin{pmatrix}1\\end{pmatrix}", pytest.param("x+1", marks=pytest.mark.long)])
@pytest.mark.parametrize("answer", HEAVY)
def test_no_answer_keeps_anybody_waiting(answer: str, reference: str) -> None:
    """The process limits itself; a watchdog of the test would be the test's time limit."""
    assert not is_correct(answer, reference)
    assert grade("x\\in[-2,7]", "[-2,7]").correct, "and the next answer is graded as before"


def test_an_answer_that_takes_too_long_is_given_up_and_wrong() -> None:
    found = grade("\\prod_{n=1}^{100000} (n+x)", "\\prod_{n=1}^{100001} (n+x)")
    assert (found.correct, found.by) == (False, "given up")


def test_it_grades_in_any_thread() -> None:
    pairs = [(f"x\\in[{i},7]", f"[{i},7]") for i in range(20)]
    before = set(threading.enumerate())
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda pair: is_correct(*pair), pairs))
    left = set(threading.enumerate()) - before
    assert len(left) <= 2, left


def test_a_judge_that_dies_is_replaced() -> None:
    judge.ask.cache_clear()
    assert judge.ask("$[1,2]$", "$[1,2]$")
    process = next(helper._process for helper in judge._judges.helpers if helper._process is not None)
    process.kill()
    process.wait()
    assert judge.ask("$[1,3]$", "$[1,3]$")


def test_nothing_in_an_answer_is_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    for answer in (
        f"__import__('pathlib').Path('{trap}').touch()",
        f"$__import__('os').system('touch {trap}')$",
        f"\\text{{__import__('os').system('touch {trap}')}}",
        f"1+exec(\"open('{trap}','w')\")",
    ):
        assert not is_correct(answer, "\\begin{pmatrix}1\\end{pmatrix}")
        assert not is_correct(answer, "x+1")
    assert not trap.exists()


def test_without_math_verify_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge.importlib.util, "find_spec", lambda _: None)
    assert is_correct("\\frac{1}{2}", "0.5")
    judge.ask.cache_clear()
    with pytest.raises(MissingDependency, match="pip install math-verify"):
        is_correct("x\\in[-1,7]", "[-1,7]")


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ("$\\dfrac12$", "\\frac{1}{2}"),
        ("\\left( 1 , 2 \\right)", "(1,2)"),
        (" 12{,}345 . ", "12345"),
        ("\\text{east}", "east"),
        ("(12,102)", "(12,102)"),
        ("\\sqrt2", "\\sqrt{2}"),
        ("a \\cdot b", "a*b"),
        (".5", ".5"),
    ],
)
def test_there_is_one_spelling(text: str, tidied: str) -> None:
    assert latex.tidy(text) == tidied
    assert latex.tidy(tidied) == tidied


def test_only_known_units_are_left_out() -> None:
    assert latex.without_units("5cm") == "5"
    assert latex.without_units("5x") == "5x"
    assert latex.without_units("5cm^{2}") == "5"
    assert latex.without_units("cm") == "cm"


@pytest.mark.parametrize("text", ["f(x)", "1 2", "x'", "\\int x", "2+", "(1", "\\frac{1}", "a=b", "3 < 4", "\\unknown"])
def test_what_is_no_formula_here_is_said(text: str) -> None:
    with pytest.raises(formula.NotUnderstood):
        formula.parse(latex.tidy(text))


def data(folder: str) -> Path:
    """The real data, which are not part of this repository: `GEM_TEST_DATA` names their folder."""
    place = Path(os.environ.get("GEM_TEST_DATA", ROOT.parent / "shared" / "data")) / folder
    if not place.is_dir():
        pytest.skip("GEM_TEST_DATA does not name the folder of the real data sets")
    return place


def test_every_real_reference_is_a_correct_answer_to_itself() -> None:
    count = 0
    for path in sorted(data("math_eval").glob("*.jsonl")):
        for row in load(path):
            count += 1
            assert all(is_correct(text, row["answer"]) for text in alternatives(row["answer"])), row["answer"]
    assert count == 1560


def test_real_references_are_told_apart() -> None:
    rows: list[Any] = [row["answer"] for row in load(data("math_eval") / "math.jsonl")]
    for one, other in pairwise(rows):
        values = [latex.tidy(text).replace(" ", "").rpartition("=")[2] for text in (one, other)]
        same = values[0] == values[1]
        assert is_correct(one, other) == same, json.dumps([one, other])
