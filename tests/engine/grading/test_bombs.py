"""No text that an agent or a visitor can send makes a grader or a parser compute for long. Times are CPU times."""

import gc
import os
import random
import resource
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import psutil
import pytest

from gem.agents.endpoint import functions
from gem.envs.dialogues.retail import Retail
from gem.envs.terminal.terminal import ActionPattern
from gem.grading import answers as short_answers
from gem.grading import judge, parsing
from gem.grading.bounds import is_small
from gem.grading.judge_process import HARD_LIMIT_SECONDS
from gem.grading.latex import MAX_ANSWER_CHARS
from gem.grading.math import decide_without_judge, grade
from gem.tools.calls import find_calls
from gem.views.ansi import spans
from gem.wrappers import NormalizeAction
from tests.counts import Counted
from tests.engine.grading import bombs
from tests.engine.grading.expressions import bombs as bombs_for
from tests.engine.grading.expressions import expressions

MAX_SECONDS = 0.8
"""What a text may cost. The slowest takes a tenth of this; what grows with the square of the length takes seconds."""
CHARS = 1 << 15
"""Half of what an action may have. Where the time grows with the square, it is a second here."""
MATCHED_AT_ONE_PLACE = {
    "gem.envs.dialogues.retail._NEXT_NAME_PATTERN", "gem.envs.dialogues.retail._QUOTED_PATTERN",
    "gem.datasets.hub.REPOSITORY_NAME", "gem.datasets.hub.SPLIT_FILE_NAME",
}  # fmt: skip
CUT_BEFORE = "gem.agents.endpoint.functions._BLOCK"
"""Its text ends with the last closing tag (`test_no_text_takes_long_to_parse`)."""
MARKS = (
    "\\boxed{", "\\boxed{}", "\\boxed{say a=", "\\boxed{a b=\"", "\\boxed {", "\\\\", "<answer>", "</answer>",
    "<ANSWER>", "<bash>",
    "</bash>", "<finish", "<tool_call>", "<tool_call>{", "</tool_call>", "<tool_call>{}</tool_call>", "<tool_name>",
    "```", "```\n",
    "```python\n", "search[", "search[ ", "click[a]", "[", "{", "{\"a\":", "\"", "\x1b[", "\x1b[1;", ";", "\x9d", " ",
    "\n", "a", "a ",
    "a=", "1", "9 ", ",", "A ", "the ", "['", "cmd: ", "½", "\u202e", "\U0001f469\u200d", "İ",
)  # fmt: skip
AROUND = (("", ""), ("\\boxed{say ", "}"), ("<tool_call>\x1b[", "m"))
retail = Retail()
normalizer = NormalizeAction(retail)
PARSERS: dict[str, Callable[[str], object]] = {
    "boxed": parsing.extract_last_boxed_answer,
    "tagged": parsing.extract_last_tagged_answer,
    "code": parsing.extract_last_code_block,
    "words": lambda text: short_answers.best_f1(text, short_answers.aliases(text)),
    "calls": find_calls,
    "functions": functions.calls_of,
    "terminal": ActionPattern().findall,
    "normal form": normalizer.normalize,
    "colours": spans,
}


def seconds(act: Callable[[], object]) -> float:
    """The CPU time of this thread for a call, without collections of what other tests left behind."""
    gc.disable()
    try:
        started = time.thread_time()
        act()
        return time.thread_time() - started
    finally:
        gc.enable()


def test_no_expression_takes_long_on_any_text(counted: Counted) -> None:
    slow, count = [], 0
    for name, expression in expressions():
        reads_answers = name.startswith(("gem.grading.latex", "gem.grading.math", "gem.grading.formula"))
        search = expression.match if name in MATCHED_AT_ONE_PLACE else expression.search
        for bomb in [] if name == CUT_BEFORE else bombs_for(expression, MAX_ANSWER_CHARS if reads_answers else CHARS):
            count += 1
            if seconds(lambda: search(bomb)) > MAX_SECONDS / 4:  # noqa: B023 (called at once)
                slow.append((name, bomb[:40]))
    assert not slow
    assert count > 1000
    counted("bombs for regular expressions", count)


@pytest.mark.parametrize("name", PARSERS)
def test_no_text_takes_long_to_parse(name: str, counted: Counted) -> None:
    for mark in MARKS:
        for before, after in AROUND:
            text = before + mark * ((CHARS - len(before) - len(after)) // len(mark)) + after
            assert seconds(lambda: PARSERS[name](text)) < MAX_SECONDS / 4, text[:40]  # noqa: B023 (called at once)
    counted("bombs for parsers", len(MARKS) * len(AROUND))


def test_no_answer_takes_long_before_the_judge(counted: Counted) -> None:
    bombs_tried = list(bombs.answers())
    for answer, reference in zip(bombs_tried, cycle(("5", "x+1", "\\{1,2,3\\}", "\\sqrt{2}")), strict=False):
        assert seconds(lambda: decide_without_judge(answer, reference)) < MAX_SECONDS, answer[:40]  # noqa: B023
    assert len(bombs_tried) > 300
    counted("answer bombs", len(bombs_tried))


def test_formulas_that_are_too_large_never_reach_sympy(monkeypatch: pytest.MonkeyPatch, counted: Counted) -> None:
    monkeypatch.setattr(judge, "_judges", None)
    for formula in (*bombs.TOO_LARGE, *bombs.answers()):
        if formula in bombs.TOO_LARGE:
            assert not is_small(formula), formula[:40]
            assert not grade(formula, "\\begin{pmatrix}1\\end{pmatrix}").correct
        assert seconds(lambda: is_small.__wrapped__(formula)) < MAX_SECONDS, formula[:40]  # noqa: B023
    assert len(bombs.TOO_LARGE) > 100
    counted("formula bombs", len(bombs.TOO_LARGE))


def seconds_of_judges() -> float:
    """The CPU time of the judges so far, also of those that were killed."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    alive = [psutil.Process(helper._process.pid).cpu_times() for helper in judge._judges.helpers if helper._process]
    return ended.ru_utime + ended.ru_stime + sum(times.user + times.system for times in alive)


@pytest.mark.parametrize("most", [3, pytest.param(10_000, marks=pytest.mark.long)])
def test_no_bomb_that_passes_the_bounds_takes_the_judge_long(most: int, counted: Counted) -> None:
    pytest.importorskip("math_verify")
    sent = [formula for formula in dict.fromkeys((*bombs.TOO_LARGE, *bombs.answers())) if is_small(f"${formula}$")]
    sent = random.Random(os.environ["SHUFFLE"]).sample(sent, min(most, len(sent)))
    judge.ask.cache_clear()
    for number, formula in enumerate(sent):
        judge._judges.call(answer=f"${number}$", reference="$x$")  # a judge that was killed is replaced beforehand
        before = seconds_of_judges()
        assert not judge.ask(f"${formula}$", "$\\begin{pmatrix}1\\end{pmatrix}$"), formula[:40]
        assert seconds_of_judges() - before < 1.5 * HARD_LIMIT_SECONDS, formula[:40]
    counted("formula bombs sent to the judge", len(sent))


def test_one_hundred_thousand_digits_are_not_read() -> None:
    for answer in ("9" * 10**5, "0." + "3" * 10**5, "\\frac{1}{" + "7" * 10**5 + "}", "{" * 10**5):
        assert seconds(lambda: grade(answer, "5")) < MAX_SECONDS  # noqa: B023 (called at once)
        assert grade(answer, "5").by == "unread"


@pytest.mark.parametrize(
    "formula",
    ["2^{1000}", "9^{9^{x}}", "x^{2023}", "\\binom{1000}{500}", "\\sqrt{1+\\sqrt{2+\\sqrt{3}}}", "100!", "n!",
    "10^{100}",
     "\\sum_{k=1}^{100} k", "\\sum_{k=0}^{\\infty} x^k", "(x+y+z)^{20}", "(x+1)^{2023}", "2^{2020-1019}",
     "\\frac{1}{1+\\frac{1}{1+\\frac{1}{1+x}}}", "\\int_0^1 x^2 dx", "e^{e^{e}}", "3.83 \\times 10^{35}", "5_{7}",
     "90^\\circ", "|x-3|^{2}", "\\lfloor x\\rfloor", "|-100|!", "\\prod_{k=1}^{100} k", "(n+1)!", "\\binom{2n}{n}",
     "2^{100x+1}", "\\sum_{i=1}^{n} \\sum_{j=1}^{n} ij", "\\sum_{k=1}^{2023} x^k", "x^{x^{x}}"],
)  # fmt: skip
def test_formulas_of_people_are_small(formula: str) -> None:
    assert is_small(judge_form := f"${formula}$"), judge_form


def test_a_slow_answer_does_not_hold_up_others() -> None:
    pytest.importorskip("math_verify")
    for helper in judge._judges.helpers[:2]:
        helper.call(answer="$1$", reference="$x$")
    slow = ("$\\int_0^1 \\int_0^1 \\sin(x^{x^x} y^y) dx dy$", "$\\begin{pmatrix}1\\end{pmatrix}$")
    has_begun = threading.Event()

    def ask() -> bool | None:
        has_begun.set()
        return judge.ask(*slow)

    judge.ask.cache_clear()
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(ask)
        has_begun.wait()
        assert judge.ask("$x\\in[-2,9]$", "$[-2,9]$")
        assert not answer.done()
        assert answer.result() is not True
    assert judge.ask("$x\\in[-3,9]$", "$[-3,9]$"), "and the next answer is graded as before"
