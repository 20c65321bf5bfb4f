"""Templates whose programs take a thought, or several steps."""

from __future__ import annotations

from gem.datasets.drawn_programs.draw import Draw, Problem, Template, program


def change(draw: Draw) -> Problem:
    """The fewest coins; taking the largest first may be wrong."""
    middle = draw.number(4, 9)
    large = middle + draw.number(2, 5)
    text = (
        f"Coins are worth 1, {middle} and {large}. The input is an amount from 0 to 999. Print the fewest coins that "
        "make it."
    )
    solution = (
        "n = int(input())\nbest = [0]\nfor k in range(1, n + 1):\n"
        f"    best.append(1 + min(best[k - c] for c in (1, {middle}, {large}) if c <= k))\nprint(best[n])"
    )
    return program(text, solution, draw.inputs(draw.natural))


def stretch(draw: Draw) -> Problem:
    """The largest sum of neighbours, each of them less some."""
    less = draw.number(1, 30)
    text = (
        f"The input is one line of whole numbers. Subtract {less} from each. Print the largest sum of neighbouring "
        "numbers, of which there is at least one."
    )
    solution = (
        f"x = [int(n) - {less} for n in input().split()]\nbest = run = x[0]\nfor n in x[1:]:\n"
        "    run = max(run + n, n)\n    best = max(best, run)\nprint(best)"
    )
    return program(text, solution, draw.inputs(draw.line_of_numbers))


def rising(draw: Draw) -> Problem:
    """The longest rise with gaps."""
    gap = draw.number(1, 12)
    text = (
        "The input is one line of whole numbers. Leave out as few as possible, so that each of the rest is at least "
        f"{gap} more than the one before it. Print how many are left."
    )
    solution = (
        "x = list(map(int, input().split()))\nbest = []\nfor i, n in enumerate(x):\n"
        f"    best.append(1 + max((best[j] for j in range(i) if x[j] + {gap} <= n), default=0))\nprint(max(best))"
    )
    return program(text, solution, draw.inputs(draw.line_of_numbers))


def tribonacci(draw: Draw) -> Problem:
    """A recurrence over three numbers, by its remainder."""
    starts, modulus = [draw.number(0, 20) for _ in range(3)], draw.number(50, 900)
    text = (
        f"A sequence begins with {starts[0]}, {starts[1]} and {starts[2]}, its numbers 0, 1 and 2. Each later number "
        f"is the sum of the three before it. The input is n, from 0 to 999. Print the remainder of its number n "
        f"divided by {modulus}."
    )
    solution = (
        f"a, b, c = {starts[0]}, {starts[1]}, {starts[2]}\nfor _ in range(int(input())):\n"
        f"    a, b, c = b, c, (a + b + c) % {modulus}\nprint(a % {modulus})"
    )
    return program(text, solution, draw.inputs(draw.natural))


def groups(draw: Draw) -> Problem:
    """Words by their length."""
    (order, key) = draw.pick((("the shortest first", "k"), ("the longest first", "-k")))
    text = (
        "The input is one line of words. For each length that occurs, print a line with the length, a colon, a space "
        f"and the different words of this length in the order of the alphabet, separated by spaces; {order}."
    )
    solution = (
        "words = set(input().split())\n"
        f"for n in sorted({{len(w) for w in words}}, key=lambda k: {key}):\n"
        "    print(str(n) + ': ' + ' '.join(sorted(w for w in words if len(w) == n)))"
    )
    return program(text, solution, draw.inputs(draw.line_of_words))


def divisors(draw: Draw) -> Problem:
    """How many divisors are beyond a bound."""
    bound = draw.number(1, 40)
    text = (
        f"The input is a whole number n from 0 to 999. Print how many whole numbers greater than {bound} divide n "
        "without a remainder; 0 for n = 0."
    )
    solution = f"n = int(input())\nprint(sum(n % k == 0 for k in range({bound + 1}, n + 1)))"
    return program(text, solution, draw.inputs(draw.natural))


TEMPLATES: tuple[Template, ...] = (change, stretch, rising, tribonacci, groups, divisors)
