"""Generated word problems: exact answers, which another way of solving confirms, and no two alike."""

import random
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import permutations

import pytest

import gem
from gem.datasets.drawn import ROWS
from gem.datasets.word_problems import LEVELS, drawn, problem
from gem.datasets.word_problems.draw import Draw
from gem.errors import InvalidArgument
from gem.grading.numbers import read_number

TEMPLATES = {template.__name__: template for templates in LEVELS.values() for template in templates}
Numbers = list[int]


def _pursuit(slow: int, delay: int, fast: int) -> Fraction:
    """Minute by minute, in steps of a minute: the answer is whole."""
    return next(Fraction(m) for m in range(1, 10**4) if fast * m == slow * (m + delay))


def _balls(red: int, blue: int, text: str) -> Fraction:
    """Every pair of balls."""
    colours = ["red"] * red + ["blue"] * blue
    wanted = "red" if "both are red" in text else "blue"
    pairs = list(permutations(colours, 2))
    return Fraction(sum(pair == (wanted, wanted) for pair in pairs), len(pairs))


def _jar(text: str, total: int, cents: int) -> int:
    factor = next(number for word, number in (("twice", 2), ("three", 3), ("four", 4)) if word in text)
    found = [
        total - (factor + 1) * twenties
        for twenties in range(1, total // (factor + 1) + 1)
        if 10 * factor * twenties + 20 * twenties + 50 * (total - (factor + 1) * twenties) == cents
    ]
    (only,) = found
    return only


def _watering(short: int, long: int) -> int:
    """Day by day."""
    first = date(2024, 1, 1)
    return next(
        n for n in range(1, 10**5) if n % short == 0 == n % long and (first + timedelta(n)).weekday() == first.weekday()
    )


def _together(first: int, second: int, hours: int) -> Fraction:
    """What is left of a wall of first * second metres."""
    wall = first * second
    return Fraction(wall - hours * second - hours * first, first)


def _gifts(text: str, numbers: Numbers) -> int:
    parts = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6}
    one, two = (parts[word] for word in re.findall(r"one (half|third|quarter|fifth|sixth)", text))
    more, further, left = numbers
    (start,) = {
        start
        for start in range(1, 3000)
        if start % one == 0
        and (rest := start - start // one - more) % two == 0
        and rest > 0
        and rest - rest // two - further == left
    }
    return start


def _clock(hour: int, minute: int) -> Fraction:
    """With the time since midnight in seconds."""
    seconds = (datetime(2024, 1, 1, hour % 12, minute) - datetime(2024, 1, 1)).seconds
    apart = abs(Fraction(seconds * 360, 12 * 3600) - Fraction(seconds * 360, 3600)) % 360
    return min(apart, 360 - apart)


def _twice_as_old(now: int, years: int, later: int) -> int:
    (child,) = [age for age in range(1, 130) if now * age + years == later * (age + years)]
    return now * child


def _tickets(adult: int, child: int, count: int, total: int) -> int:
    (children,) = [n for n in range(count + 1) if n * child + (count - n) * adult == total]
    return children


def _tank(full: int, start: int, inflow: int, leak: int) -> int:
    minutes = 0
    while start < full:
        start, minutes = start + inflow - leak, minutes + 1
    return minutes


def _culture(text: str, numbers: Numbers) -> int:
    start, taken, hours = numbers
    for _ in range(hours):
        start = start + start * (2 if "triples" in text else 1) - taken
    return start


SOLUTIONS: dict[str, Callable[[str, Numbers], int | Fraction]] = {
    "collection": lambda _, n: n[0] - n[2] + n[1],
    "seats": lambda _, n: sum(n[1] for _ in range(n[0])) - n[2],
    "change": lambda _, n: n[2] * 100 - sum([n[0]] * n[1]),
    "ages": lambda _, n: n[0] + n[2] + n[1],
    "ribbon": lambda _, n: Fraction(n[0], n[1]) * n[2],
    "film": lambda _, n: 60 * n[0] + n[1] + n[2],
    "eggs": lambda _, n: n[0] % n[1],
    "fence": lambda _, n: n[0] + n[1] + n[0] + n[1] - n[2],
    "discount": lambda _, n: n[2] * (n[0] - Fraction(n[0] * n[1], 100)),
    "tank": lambda _, n: _tank(*n),
    "trains": lambda _, n: Fraction(60 * n[0], n[1] + n[2]),
    "average": lambda _, n: n[2] + n[0] * (n[2] - n[1]),
    "paint": lambda _, n: Fraction(n[2] * (n[1] - n[0]), n[1] + n[0]),
    "overtime": lambda _, n: n[0] * n[2] + Fraction(n[0], 2) * (n[2] - n[1]),
    "tickets": lambda _, n: _tickets(*n),
    "reading": lambda _, n: sum(n[0] + n[1] * day for day in range(n[2])),
    "machines": lambda _, n: sum(m % n[0] == 0 for m in range(1, n[2] + 1)) + sum(
        m % n[1] == 0 for m in range(1, n[2] + 1)
    ),
    "pursuit": lambda _, n: _pursuit(*n),
    "balls": lambda text, n: _balls(n[0], n[1], text),
    "jar": lambda text, n: _jar(text, n[0], n[4]),
    "watering": lambda _, n: _watering(*n),
    "culture": _culture,
    "lockers": lambda _, n: sum(k % n[2] == 0 and k % n[3] != 0 for k in range(n[0], n[1] + 1)),
    "together": lambda _, n: _together(*n),
    "gifts": _gifts,
    "clock": lambda _, n: _clock(*n),
    "twice_as_old": lambda _, n: _twice_as_old(*n),
}  # fmt: skip
"""How else each template is solved, from the numbers of its text."""


def test_there_are_many_templates_of_three_levels() -> None:
    assert len(TEMPLATES) == sum(map(len, LEVELS.values())) == len(SOLUTIONS) >= 20
    assert set(TEMPLATES) == set(SOLUTIONS)
    assert all(len(templates) >= 8 for templates in LEVELS.values())


@pytest.mark.parametrize("name", TEMPLATES)
def test_another_way_of_solving_gives_the_same(name: str) -> None:
    texts = set()
    for number in range(25):
        text, answer = TEMPLATES[name](Draw(9, number))
        numbers = [int(digits) for digits in re.findall(r"\d+", text)]
        assert SOLUTIONS[name](text, numbers) == answer, text
        assert answer > 0, text
        assert text.endswith((".", "?"))
        texts.add(text)
    assert len(texts) >= 24


def test_problems_hardly_repeat_and_never_change() -> None:
    for level in LEVELS:
        texts = {problem(level, number)["problem"] for number in range(2000)}
        assert len(texts) >= 1950, level
    draw = random.Random(4)
    far = [draw.randrange(ROWS) for _ in range(50)]
    assert len({problem("hard", number)["problem"] for number in far}) == 50
    assert problem("medium", 7) == drawn("medium")[7]
    assert drawn("easy").sha256 != drawn("hard").sha256
    with pytest.raises(IndexError):
        drawn("easy")[ROWS]


def test_every_template_comes_up() -> None:
    for level, templates in LEVELS.items():
        assert {problem(level, number)["template"] for number in range(300)} == {each.__name__ for each in templates}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12), (" 12. ", 12), ("-3.50", Fraction(-7, 2)), ("−4", -4), ("1,250", 1250),
        ("12,345.5", Fraction(24691, 2)),
        ("3/7", Fraction(3, 7)), ("$ \\frac{3}{7} $", Fraction(3, 7)), ("-\\dfrac{6}{4}", Fraction(-3, 2)),
        ("1\\,250", 1250), ("0.5", Fraction(1, 2)), ("", None), ("3/0", None), ("12 euros", None), ("1,25", None),
        ("٣", None), ("1e9", None), ("nan", None), ("9" * 70, None), ("1 1/2x", None), ("--3", None),
    ],
)  # fmt: skip
def test_numbers_are_read_exactly(text: str, number: Fraction | int | None) -> None:
    assert read_number(text) == number


@pytest.mark.parametrize("level", LEVELS)
def test_an_episode_is_one_exact_answer(level: str) -> None:
    env = gem.make(f"math:Drawn-v0-{level}")
    for seed in (0, 5, 2**53 - 1):
        observation, info = env.reset(seed=seed)
        row = problem(level, seed)
        assert observation == row["problem"]
        assert set(info["data"]) == {"source", "sha256"}, "its row would be its seed"
        exact = Fraction(row["answer"])
        for answer, reward in ((row["answer"], 1.0), (str(exact + Fraction(1, 1000)), 0.0), ("about a dozen", 0.0)):
            env.reset(seed=seed)
            assert env.step(f"So it is \\boxed{{{answer}}}.")[1] == reward
        env.reset(seed=seed)
        result, reward, terminated, _, last = env.step("I give up")
        assert (reward, terminated, last["error"]) == (0.0, True, "format")
        assert row["answer"] in result


def test_equal_numbers_are_correct_however_they_are_written() -> None:
    env = gem.make("math:Drawn-v0-hard")
    seed = next(seed for seed in range(200) if problem("hard", seed)["template"] == "balls")
    exact = Fraction(problem("hard", seed)["answer"])
    for text in (
        f"\\frac{{{2 * exact.numerator}}}{{{2 * exact.denominator}}}",
        f"{exact.numerator} / {exact.denominator}",
    ):
        env.reset(seed=seed)
        assert env.step(f"\\boxed{{{text}}}")[1] == 1.0
    env.reset(seed=seed)
    assert env.step(f"\\boxed{{{float(exact):.4f}}}")[1] == 0.0, "a rounded fraction is another number"
    with pytest.raises(InvalidArgument, match=r"There is no level 'hrad'\. Did you mean hard"):
        gem.make("math:Drawn-v0", level="hrad")
