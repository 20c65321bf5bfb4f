"""Formulas in texts that anybody may have written: what is drawn, what stays as it is, and that nothing gets in."""

import subprocess
import sys
import time
from html.parser import HTMLParser

import pytest

from apps.site.mathematics import MAX_FORMULA_CHARACTERS, MAX_TEXT_CHARACTERS, answer, typeset
from tests.packages import skip_without

skip_without("math_core")


class Tags(HTMLParser):
    """Collects what an answer is made of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize(
    "text",
    [
        "Let $x^2$ be",
        r"so \(x^2\) is",
        r"\[x^2\]",
        "$$x^2$$",
        r"\begin{align*}y&=x^2\end{align*}",
        r"I answer \boxed{x^2}.",
        "That is not correct. A correct answer: x^2",
    ],
)
def test_every_way_to_write_a_formula_is_drawn(text: str) -> None:
    drawn = typeset(text)
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in drawn
    assert "$" not in drawn


@pytest.mark.parametrize(
    "text",
    [
        "He has $5 and she has $6.",
        "It costs $12.99 (was $15.00), so Tom's $ is gone.",
        "He paid $20 for it, and $30 more. Then x$ is left.",
        r"\boxed{5}",
        r"\boxed{reveal 7 2}",
        "No formula at all.",
        r"$\unknown{x}$",
        r"\boxed{\frac{1}{2}",
        "",
    ],
)
def test_what_is_no_formula_stays_as_it_is(text: str) -> None:
    assert typeset(text) == ""


def test_a_formula_that_is_not_known_stays_among_those_that_are() -> None:
    assert typeset(r"$\unknown{x}$ and $y$") == r"$\unknown{x}$ and <math><mi>y</mi></math>"


def test_lines_and_dollars_of_the_text_stay() -> None:
    assert typeset("It is \\$5.\n\nLet $x$ be\n  more") == "It is $5.\n\nLet <math><mi>x</mi></math> be\n  more"


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> $x$",
        r"$\text{<script>alert(1)</script>}$",
        r"$x$ $\text{</math><img src=x onerror=alert(1)>}$",
        r"$x$ $\href{javascript:alert(1)}{y}$",
        r"$\color{red;background:url(//evil)}x$ $x$",
        r"$\begin{array}{c|c}1&2\\\hline 3&4\end{array}$",
        r"$\style{position:fixed}{x}$ $x$",
        "$a<b$ & $c>d$",
        '$x$ "><svg onload=alert(1)>',
        r"$\htmlData{x=y}{z}$ $x$",
        "$x\x00y$ $z$",
    ],
)
def test_nothing_but_mathematics_comes_out(text: str) -> None:
    drawn = Tags(typeset(text))
    assert drawn.found
    assert drawn.found <= {"math", "mi", "mo", "mn", "mrow", "mtext", "mtable", "mtr", "mtd", "mspace", "mstyle"}
    assert not drawn.attributes & {"style", "href", "src", "onerror", "onload", "id"}


@pytest.mark.parametrize(
    "text",
    [
        "$" * MAX_TEXT_CHARACTERS,
        r"\(" * (MAX_TEXT_CHARACTERS // 2),
        r"\[" * (MAX_TEXT_CHARACTERS // 2),
        "$x" * (MAX_TEXT_CHARACTERS // 2),
        r"\boxed{" * (MAX_TEXT_CHARACTERS // 7),
        r"\begin{align}" * (MAX_TEXT_CHARACTERS // 13),
        "$$x" * (MAX_TEXT_CHARACTERS // 3),
        r"\$" * (MAX_TEXT_CHARACTERS // 2),
        "$" + r"\x " * 600 + "$",
        "$x$" * (MAX_TEXT_CHARACTERS // 3),
    ],
    ids=lambda text: text[:6],
)
def test_a_text_made_to_be_slow_takes_a_little_longer_than_an_honest_one(text: str) -> None:
    honest = "The area of a circle of radius $r$ is $\\pi r^2$, and \\(2 \\pi r\\) its edge. " * 250
    typeset(honest)
    begin = time.process_time()
    for _ in range(3):
        typeset(honest)
    usual = time.process_time() - begin
    begin = time.process_time()
    typeset(text)
    assert time.process_time() - begin < 60 * usual


@pytest.mark.parametrize(
    "formula",
    [
        "{" * 900 + "x" + "}" * 900,
        r"\sqrt" * 390 + " x",
        "x^{" * 480 + "y" + "}" * 480,
        r"\frac{1}{" * 190 + "x" + "}" * 190,
        r"\left(" * 150 + "x" + r"\right)" * 150,
        r"\begin{matrix}" * 70 + "x" + r"\end{matrix}" * 70,
        r"\newcommand{\a}{\a\a}\a",
        r"\def\a{\b\b}\def\b{\a\a}\a",
    ],
    ids=lambda formula: formula[:8],
)
def test_deep_formulas_do_not_end_the_process(formula: str) -> None:
    """In a process of its own with a small stack: the converter is recursive, and an overflow could not be caught."""
    assert len(formula) <= MAX_FORMULA_CHARACTERS
    program = (
        "import sys, threading; threading.stack_size(512 * 1024)\n"
        "from apps.site.mathematics import typeset\n"
        "t = threading.Thread(target=lambda: typeset(sys.argv[1])); t.start(); t.join(); print('alive')"
    )
    ran = subprocess.run([sys.executable, "-c", program, f"${formula}$"], capture_output=True, text=True, check=False)
    assert ran.stdout == "alive\n", ran.stderr


def test_the_answer_of_an_action_is_drawn_by_itself() -> None:
    assert "<mfrac>" in answer(r"So it is \boxed{\frac{1}{2}}.")
    assert answer(r"\boxed{5}") == ""
    assert answer(r"\boxed{reveal_it 7 2}") == ""
    assert answer("no box") == ""
