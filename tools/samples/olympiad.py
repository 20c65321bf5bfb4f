"""Problems of olympiads in small, whose answers are lists of texts in dollars, in the manner of OlympiadBench: lists of
numbers or tuples, formulas in n, intervals, functions."""

from __future__ import annotations

import math
from fractions import Fraction

from gem.rng import SplitMix64, randint
from tools.samples.problem import Made, fraction, signed


def _math(*texts: str) -> list[str]:
    return [", ".join(f"${text}$" for text in texts)]


def divisor_equation(rng: SplitMix64) -> Made:
    a = randint(rng, 2, 9)
    n = randint(rng, 6, 40)
    found = [k for k in range(1, 400) if (n * a) % (k + a) == 0]
    if not found:
        return divisor_equation(rng)
    return Made(
        f"Find all positive integers $k$ for which $k + {a}$ divides ${n * a}$.", [f"${','.join(map(str, found))}$"]
    )


def unit_fractions(rng: SplitMix64) -> Made:
    n = randint(rng, 3, 24)
    found = [f"({n + d},{n + n * n // d})" for d in range(1, n + 1) if n * n % d == 0]
    return Made(
        f"Find all pairs $(x, y)$ of positive integers with $x \\le y$ and $\\frac{{1}}{{x}} + \\frac{{1}}{{y}} = "
        f"\\frac{{1}}{{{n}}}$.",
        [f"${','.join(found)}$"],
    )


def triangular_tiles(rng: SplitMix64) -> Made:
    k = randint(rng, 2, 9)
    return Made(
        f"The rows of a wall have ${k}$, ${2 * k}$, ${3 * k}$ stones and so on, ${k}$ more in each. How many "
        "stones have "
        "the first $n - 1$ rows together? Answer with a formula in $n$.",
        [f"$\\frac{{{k} n(n-1)}}{{2}}$"],
    )


def handshakes(rng: SplitMix64) -> Made:
    k = randint(rng, 2, 6)
    return Made(
        f"At a meeting of $n$ couples everybody shakes hands ${k}$ times with everybody except the own "
        "partner. How many "
        "times do two hands meet? Answer with a formula in $n$.",
        [f"${2 * k} n(n-1)$"],
    )


def linear_function(rng: SplitMix64) -> Made:
    a, b = randint(rng, 2, 9), randint(rng, 1, 9)
    return Made(
        f"Find the linear functions $f$ with a positive slope and $f(f(x)) = {a * a}x + {b * (a + 1)}$ for all $x$.",
        [f"$f(x)={a} x+{b}$"],
    )


def quadratic_range(rng: SplitMix64) -> Made:
    a, b = randint(rng, 2, 7), randint(rng, -9, 9)
    low = Fraction(b) - Fraction(a * a, 4)
    return Made(
        f"Which values does $x^2 + {a}x{signed(b) if b else ''}$ take for real $x$? Answer with an interval.",
        [f"$[{fraction(low)}, \\infty)$"],
    )


def two_sided(rng: SplitMix64) -> Made:
    a, b = randint(rng, 2, 5), randint(rng, 6, 30)
    low, high = fraction(Fraction(-b - 1, a)), fraction(Fraction(b - 1, a))
    return Made(f"Solve $|{a}x + 1| < {b}$ for real $x$. Answer with an interval.", [f"$({low}, {high})$"])


def two_answers(rng: SplitMix64) -> Made:
    total = randint(rng, 4, 15)
    product = randint(rng, 1, total * total // 4 - 1)
    inside = total * total - 4 * product
    if math.isqrt(inside) ** 2 == inside:
        return two_answers(rng)
    return Made(
        f"The sum of two real numbers is ${total}$ and their product is ${product}$. Find both.",
        _math(f"\\frac{{{total}+\\sqrt{{{inside}}}}}{{2}}", f"\\frac{{{total}-\\sqrt{{{inside}}}}}{{2}}"),
    )


def largest_power(rng: SplitMix64) -> Made:
    n, p = randint(rng, 30, 400), (2, 3, 5, 7)[randint(rng, 0, 3)]
    power, rest = 0, n
    while rest:
        rest //= p
        power += rest
    return Made(f"Find the largest integer $k$ such that ${p}^k$ divides ${n}!$.", [str(power)])


def telescope(rng: SplitMix64) -> Made:
    k = randint(rng, 1, 9)
    return Made(
        f"Find $\\sum_{{i={k}}}^{{n}} \\frac{{1}}{{i(i+1)}}$ for $n \\ge {k}$, as a formula in $n$.",
        [f"$\\frac{{1}}{{{k}}}-\\frac{{1}}{{n+1}}$" if k > 1 else "$\\frac{n}{n+1}$"],
    )


def tangent_circles(rng: SplitMix64) -> Made:
    a, b = randint(rng, 1, 9), randint(rng, 1, 9)
    return Made(
        f"Two circles with radii ${a * a}$ and ${b * b}$ touch each other from outside. How long is the part "
        "of a common "
        "outer tangent between the points where it touches them?",
        [f"${2 * a * b}$"],
    )


ALL = (
    divisor_equation, unit_fractions, triangular_tiles, handshakes, linear_function, quadratic_range, two_sided,
    two_answers, largest_power, telescope, tangent_circles,
)  # fmt: skip
