"""Generated programming problems: solutions that pass in the sandbox, other ways of solving, and no two alike."""

import json
import re
from collections.abc import Callable

import pytest

import gem
from gem.datasets.drawn import ROWS
from gem.datasets.drawn_programs import LEVELS, drawn, problem
from gem.datasets.drawn_programs.draw import TESTS, Draw
from gem.errors import InvalidArgument

TEMPLATES = {template.__name__: template for templates in LEVELS.values() for template in templates}
Numbers = list[int]


def _ints(line: str) -> Numbers:
    return [int(word) for word in line.split()]


def _pair(task: str, given: str, numbers: Numbers) -> int:
    a, b = _ints(given.replace("\n", " "))
    results = {"their sum": a + b, "product": a * b, "larger": max((a, b)), "smaller": min((a, b))}
    results |= {"the first minus the second": a - b, "the second minus the first": -(a - b)}
    (value,) = [value for words, value in results.items() if words in task]
    return value * numbers[0]


def _repeated(task: str, given: str, numbers: Numbers) -> str:
    piece = given[:1] if "first letter" in task else given[-1:] if "last letter" in task else given
    return "".join(piece for _ in range(numbers[0]))


def _letters(task: str, given: str, numbers: Numbers) -> int:
    (letter,) = re.findall(r"the letter (\w),", task)
    return sum(character == letter for character in given) + numbers[0]


def _total(task: str, given: str, numbers: Numbers) -> int:
    x = sorted(_ints(given))
    whole = sum(x) if "their sum" in task else x[-1] if "largest" in task else x[0] if "smallest" in task else len(x)
    return whole - numbers[0]


def _clipped(given: str, low: int, high: int) -> int:
    return sum(sorted((low, n, high))[1] for n in _ints(given))


def _steps(n: int, numbers: Numbers) -> int:
    factor, more, bound = numbers
    return 0 if n > bound else 1 + _steps(n * factor + more, numbers)


def _long_words(task: str, given: str, numbers: Numbers) -> str:
    words = sorted((word for word in given.split() if not len(word) < numbers[0]), reverse="from z" in task)
    return " ".join(words)


def _shifted(given: str, shift: int) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return given.translate(str.maketrans(alphabet, alphabet[shift:] + alphabet[:shift]))


def _fewest_coins(amount: int, coins: Numbers) -> int:
    reached, count = {0}, 0
    while amount not in reached:
        reached, count = {value + coin for value in reached for coin in coins if value + coin <= amount}, count + 1
    return count


def _longest_rise(x: Numbers, gap: int) -> int:
    """By trying for each number whether it is taken, from the last one on."""
    if not x:
        return 0
    with_first = 1 + _longest_rise([n for n in x[1:] if n >= x[0] + gap], gap)
    return max(with_first, _longest_rise(x[1:], gap))


def _sequence(n: int, numbers: Numbers) -> int:
    found = [*numbers[:3]]
    while len(found) <= n:
        found.append(sum(found[-3:]))
    return found[n] % numbers[3]


def _groups(task: str, given: str) -> str:
    lengths = sorted({len(word) for word in given.split()})
    if "longest first" in task:
        lengths.reverse()
    words = sorted({*given.split()})
    return "\n".join(f"{length}: {' '.join(filter(lambda w, n=length: len(w) == n, words))}" for length in lengths)


SOLUTIONS: dict[str, Callable[[str, str, Numbers], object]] = {
    "linear": lambda _, given, n: n[1] + n[0] * int(given),
    "remainder": lambda _, given, n: int(given) - int(given) // n[0] * n[0],
    "power": lambda _, given, n: eval("*".join([f"({given})"] * n[0])) - n[1],
    "pair": _pair,
    "repeated": _repeated,
    "letters": _letters,
    "total": _total,
    "above": lambda task, given, n: sum(x > n[0] if "greater" in task else x < n[0] for x in _ints(given)),
    "multiples": lambda _, given, n: len(
        set(range(n[3], int(given) + 1, n[3])) ^ set(range(n[4], int(given) + 1, n[4]))
    ),
    "places": lambda _, given, n: "".join(
        letter for place, letter in enumerate(given, 1) if place >= n[0] and (place - n[0]) % n[1] == 0
    ).upper(),
    "clipped": lambda _, given, n: _clipped(given, n[0], n[2]),
    "digits": lambda _, given, n: sum((i + 1) * n[1] * int(d) for i, d in enumerate(given)) % n[2],
    "steps": lambda _, given, n: _steps(int(given), n[2:5]),
    "long_words": _long_words,
    "shifted": lambda _, given, n: _shifted(given, n[0]),
    "gaps": lambda _, given, n: sum(
        1 for place in range(1, len(_ints(given))) if not -n[0] <= _ints(given)[place] - _ints(given)[place - 1] <= n[0]
    ),
    "change": lambda _, given, n: _fewest_coins(int(given), n[:3]),
    "stretch": lambda _, given, n: max(
        sum(x - n[0] for x in _ints(given)[first:last])
        for first in range(len(_ints(given)))
        for last in range(first + 1, len(_ints(given)) + 1)
    ),
    "rising": lambda _, given, n: _longest_rise(_ints(given), n[0]),
    "tribonacci": lambda _, given, n: _sequence(int(given), [*n[:3], n[-1]]),
    "groups": lambda task, given, _: _groups(task, given),
    "divisors": lambda _, given, n: len([k for k in range(n[2] + 1, 1000) if int(given) and int(given) % k == 0]),
}
"""How else each template is solved, from its task, an input and the numbers of the task."""


def test_there_are_many_templates_of_three_levels() -> None:
    assert set(TEMPLATES) == set(SOLUTIONS)
    assert len(TEMPLATES) == sum(map(len, LEVELS.values())) == 22


@pytest.mark.parametrize("name", TEMPLATES)
def test_another_way_of_solving_prints_the_same(name: str) -> None:
    texts = set()
    for number in range(12):
        text, _, inputs, outputs = TEMPLATES[name](Draw(9, number))
        task = text.partition("\n\nExample\n")[0]
        numbers = [int(digits) for digits in re.findall(r"-?\d+", task)]
        assert len(set(inputs)) == TESTS
        for given, expected in zip(inputs, outputs, strict=True):
            assert str(SOLUTIONS[name](task, given, numbers)) == expected, (task, given)
        assert text.endswith(f"Input:\n{inputs[0]}\nOutput:\n{outputs[0]}")
        texts.add(task)
    assert len(texts) >= 2


def test_problems_hardly_repeat_and_never_change() -> None:
    for level, templates in LEVELS.items():
        rows = [problem(level, number) for number in range(200)]
        assert len({row["problem"] for row in rows}) >= 195, level
        assert {row["template"] for row in rows} == {each.__name__ for each in templates}
    assert problem("medium", 7) == drawn("medium")[7]
    assert problem("easy", ROWS - 1)["problem"]
    with pytest.raises(IndexError):
        drawn("easy")[ROWS]


def test_an_episode_is_one_program() -> None:
    for level in LEVELS:
        env = gem.make(f"code:Drawn-v0-{level}")
        observation, info = env.reset(seed=5)
        assert observation == problem(level, 5)["problem"]
        assert set(info["data"]) == {"source", "sha256"}, "its row would be its seed"
        solution = env.reference_action()
        assert solution is not None
        _, reward, terminated, _, last = env.step(solution)
        assert (reward, terminated, last["tests"]) == (1.0, True, {"passed": TESTS, "of": TESTS})
    env.reset(seed=5)
    assert env.step("print(1)")[1] == -0.1
    with pytest.raises(InvalidArgument, match=r"There is no level 'hrad'\. Did you mean hard"):
        gem.make("code:Drawn-v0", level="hrad")


def test_random_programs_are_programs_of_the_task() -> None:
    env = gem.make("code:Drawn-v0")
    env.reset(seed=3)
    programs = {env.sample_random_action() for _ in range(40)}
    assert len(programs) > 30
    assert all(program.startswith("```python\n") and "print(" in program for program in programs)
    numbers = re.findall(r"-?\d+", json.dumps(env.unwrapped.question.partition("\n")[0]))
    assert any(number in program for number in numbers for program in programs)
