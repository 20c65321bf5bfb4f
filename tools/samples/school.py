r"""Problems of high school with answers in LaTeX, by level: fractions, roots, tuples, intervals, polynomials, texts."""

from __future__ import annotations

import math
from fractions import Fraction

from gem.rng import SplitMix64, choice, randint
from tools.samples.problem import Made, fraction, root, signed


def linear(rng: SplitMix64) -> Made:
    a, b, c = randint(rng, 3, 9), randint(rng, -12, 12), randint(rng, 2, 30)
    return Made(f"Solve ${a}x{signed(b)} = {c}$ for $x$.", Fraction(c - b, a))


def fraction_sum(rng: SplitMix64) -> Made:
    a, b, c, d = randint(rng, 1, 8), randint(rng, 9, 16), randint(rng, 1, 4), randint(rng, 5, 12)
    return Made(
        f"Compute $\\frac{{{a}}}{{{b}}} + \\frac{{{c}}}{{{d}}}$. Give a reduced fraction.",
        Fraction(a, b) + Fraction(c, d),
    )


def divisors(rng: SplitMix64) -> Made:
    n = randint(rng, 40, 400)
    return Made(f"How many positive divisors does ${n}$ have?", sum(n % k == 0 for k in range(1, n + 1)))


def remainder(rng: SplitMix64) -> Made:
    base, power, modulus = randint(rng, 2, 12), randint(rng, 15, 90), randint(rng, 5, 19)
    return Made(
        f"What is the remainder when ${base}^{{{power}}}$ is divided by ${modulus}$?", pow(base, power, modulus)
    )


def hypotenuse(rng: SplitMix64) -> Made:
    a, b = randint(rng, 2, 12), randint(rng, 2, 12)
    return Made(f"The legs of a right triangle are ${a}$ and ${b}$. How long is the hypotenuse?", root(a * a + b * b))


def circle(rng: SplitMix64) -> Made:
    radius = randint(rng, 3, 20)
    return Made(f"What is the area of a circle with circumference ${2 * radius}\\pi$?", f"{radius**2}\\pi")


def cone(rng: SplitMix64) -> Made:
    radius, height = randint(rng, 2, 9), randint(rng, 2, 9)
    third = Fraction(radius * radius * height, 3)
    return Made(
        f"A cone has radius ${radius}$ and height ${height}$. What is its volume?",
        f"{third}\\pi" if third.denominator == 1 else f"\\frac{{{third.numerator}\\pi}}{{{third.denominator}}}",
    )


def midpoint(rng: SplitMix64) -> Made:
    x1, y1, x2, y2 = (randint(rng, -9, 9) for _ in range(4))
    x, y = fraction(Fraction(x1 + x2, 2)), fraction(Fraction(y1 + y2, 2))
    return Made(
        f"What is the midpoint of the segment from $({x1}, {y1})$ to $({x2}, {y2})$?", f"\\left({x}, {y}\\right)"
    )


def system(rng: SplitMix64) -> Made:
    x, y = randint(rng, -6, 6), randint(rng, -6, 6)
    a, b = randint(rng, 2, 6), randint(rng, 2, 6)
    return Made(f"Find the pair $(x, y)$ with ${a}x + y = {a * x + y}$ and $x - {b}y = {x - b * y}$.", f"({x},{y})")


def quadratic_roots(rng: SplitMix64) -> Made:
    small = randint(rng, -9, 4)
    large = small + randint(rng, 1, 8)
    total, product = small + large, small * large
    middle = "" if total == 0 else f"{'-' if total > 0 else '+'} {abs(total)}x "
    last = "" if product == 0 else signed(product).strip() + " "
    return Made(
        f"Find all solutions of $x^2 {middle}{last}= 0$, from the smallest to the largest, with commas between them.",
        f"{small}, {large}",
    )


def inequality(rng: SplitMix64) -> Made:
    low = randint(rng, -8, 3)
    high = low + randint(rng, 2, 9)
    return Made(
        f"For which $x$ is $(x{signed(-low)})(x{signed(-high)}) \\le 0$? Answer with an interval.", f"[{low},{high}]"
    )


def domain(rng: SplitMix64) -> Made:
    a = randint(rng, 1, 30)
    return Made(f"What is the domain of $f(x) = \\frac{{1}}{{\\sqrt{{x - {a}}}}}$, as an interval?", f"({a},\\infty)")


def expand(rng: SplitMix64) -> Made:
    a, b, c = randint(rng, 2, 6), randint(rng, -9, 9), randint(rng, 2, 9)
    middle = a * -c + b
    parts = f"{a}x^2" + (f"{'-' if middle < 0 else '+'}{abs(middle)}x" if middle else "")
    return Made(f"Expand $({a}x{signed(b)})(x - {c})$.", parts + (f"{-b * c:+d}" if b else ""))


def factor(rng: SplitMix64) -> Made:
    a, b = randint(rng, 2, 9), randint(rng, 2, 9)
    return Made(f"Factor ${a * a}x^2 - {b * b}y^2$ into linear factors.", f"({a}x-{b}y)({a}x+{b}y)")


def logarithm(rng: SplitMix64) -> Made:
    base, power, under = randint(rng, 2, 7), randint(rng, 1, 5), randint(rng, 2, 4)
    return Made(
        f"Evaluate $\\log_{{{base**under}}} {base**power}$."
        if base**power < 20000
        else f"Evaluate $\\log_2 {2**power}$.",
        Fraction(power, under) if base**power < 20000 else power,
    )


def trigonometry(rng: SplitMix64) -> Made:
    name, angle = choice(rng, ("sin", "cos")), randint(rng, 1, 11) * 30
    values = {0: "0", 30: "\\frac{1}{2}", 60: "\\frac{\\sqrt{3}}{2}", 90: "1"}
    turned = angle if name == "sin" else angle + 90
    exact = turned % 360
    size = values[min(exact % 180, 180 - exact % 180)]
    return Made(f"Compute $\\{name} {angle}^\\circ$.", size if exact < 180 or size == "0" else f"-{size}")


def rationalize(rng: SplitMix64) -> Made:
    a, b = randint(rng, 2, 9), choice(rng, (2, 3, 5, 6, 7, 10))
    part = Fraction(a, b)
    above = "" if part.numerator == 1 else str(part.numerator)
    answer = (
        f"{above}\\sqrt{{{b}}}" if part.denominator == 1 else f"\\frac{{{above}\\sqrt{{{b}}}}}{{{part.denominator}}}"
    )
    return Made(f"Write $\\frac{{{a}}}{{\\sqrt{{{b}}}}}$ without a root in the denominator.", answer)


def complex_product(rng: SplitMix64) -> Made:
    a, b, c, d = (randint(rng, 1, 7) for _ in range(4))
    real, imaginary = a * c - b * d, a * d + b * c
    return Made(f"Compute $({a} + {b}i)({c} + {d}i)$.", f"{real}+{imaginary}i" if real else f"{imaginary}i")


def dice(rng: SplitMix64) -> Made:
    total = randint(rng, 3, 11)
    ways = sum(a + b == total for a in range(1, 7) for b in range(1, 7))
    return Made(
        f"Two fair dice are rolled. What is the probability that they show ${total}$ together?", Fraction(ways, 36)
    )


def choose(rng: SplitMix64) -> Made:
    n, k = randint(rng, 6, 14), randint(rng, 2, 4)
    return Made(f"In how many ways can ${k}$ of ${n}$ people be chosen for a committee?", math.comb(n, k))


def arrange(rng: SplitMix64) -> Made:
    word = choice(rng, ("BALLOON", "LEVEL", "TOMATO", "PEPPER", "COFFEE", "BANANA", "KAYAK", "NOODLE", "LETTER"))
    ways = math.factorial(len(word))
    for letter in set(word):
        ways //= math.factorial(word.count(letter))
    return Made(f"How many different arrangements do the letters of {word} have?", ways)


def geometric(rng: SplitMix64) -> Made:
    first, above, below = randint(rng, 1, 9), randint(rng, 1, 3), randint(rng, 4, 7)
    return Made(
        f"Find the sum of the infinite geometric series with first term ${first}$ and ratio "
        f"$\\frac{{{above}}}{{{below}}}$.",
        first / (1 - Fraction(above, below)),
    )


def base(rng: SplitMix64) -> Made:
    number, to = randint(rng, 60, 900), choice(rng, (3, 4, 5, 6, 7, 8, 9))
    digits, rest = "", number
    while rest:
        digits, rest = str(rest % to) + digits, rest // to
    return Made(f"Write the decimal number ${number}$ in base ${to}$. Show the base as an index.", f"{digits}_{{{to}}}")


def weekday(rng: SplitMix64) -> Made:
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    start, later = randint(rng, 0, 6), randint(rng, 40, 400)
    return Made(
        f"Today is a {days[start]}. Which day of the week will it be in ${later}$ days?",
        f"\\text{{{days[(start + later) % 7]}}}",
    )


def money(rng: SplitMix64) -> Made:
    amount, rate, years = randint(rng, 2, 20) * 500, choice(rng, (2, 4, 5, 10)), randint(rng, 2, 3)
    value = Fraction(amount) * (1 + Fraction(rate, 100)) ** years
    return Made(
        f"\\${amount} earn {rate}% interest a year, which is added at the end of each year. How many dollars are there "
        f"after {years} years, to the nearest cent?",
        f"\\${float(round(value, 2)):,.2f}",
    )


EASY = (linear, fraction_sum, divisors, hypotenuse, circle, midpoint, choose, arrange, weekday, money)
HARD = (
    remainder, cone, system, quadratic_roots, inequality, domain, expand, factor, logarithm, trigonometry, rationalize,
    complex_product, dice, geometric, base,
)  # fmt: skip
