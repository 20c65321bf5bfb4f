"""Problems as in competitions, with integers as answers that a search has found."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations, product
from math import gcd

from gem.rng import SplitMix64, choice, randint
from tools.samples.problem import Made


def coprime_count(rng: SplitMix64) -> Made:
    n, m = randint(rng, 200, 900), choice(rng, (6, 10, 12, 15, 21, 30))
    return Made(
        f"How many integers from $1$ to ${n}$ have no common divisor with ${m}$ besides $1$?",
        sum(gcd(k, m) == 1 for k in range(1, n + 1)),
    )


def digit_sum(rng: SplitMix64) -> Made:
    total, limit = randint(rng, 5, 18), 1000
    return Made(
        f"How many positive integers below ${limit}$ have digits whose sum is ${total}$?",
        sum(sum(map(int, str(k))) == total for k in range(1, limit)),
    )


def least_residue(rng: SplitMix64) -> Made:
    a, b, c = choice(rng, ((3, 5, 7), (4, 5, 9), (5, 7, 9), (5, 7, 11), (7, 8, 9), (4, 7, 9)))
    x, y, z = randint(rng, 1, a - 1), randint(rng, 1, b - 1), randint(rng, 1, c - 1)
    return Made(
        f"Find the least positive integer that leaves the remainders ${x}$, ${y}$ and ${z}$ when divided by "
        f"${a}$, ${b}$ "
        f"and ${c}$.",
        next(k for k in range(1, 1000) if (k % a, k % b, k % c) == (x, y, z)),
    )


def lattice_paths(rng: SplitMix64) -> Made:
    width, height = randint(rng, 4, 6), randint(rng, 3, 5)
    x, y = randint(rng, 1, width - 1), randint(rng, 1, height - 1)
    ways = {(0, 0): 1}
    for i, j in product(range(width + 1), range(height + 1)):
        if (i, j) != (0, 0):
            ways[i, j] = 0 if (i, j) == (x, y) else ways.get((i - 1, j), 0) + ways.get((i, j - 1), 0)
    return Made(
        f"An ant walks on a grid from $(0,0)$ to $({width},{height})$, each step one to the right or one up. The point "
        f"$({x},{y})$ is wet, and the ant avoids it. How many ways are there?",
        ways[width, height],
    )


def no_neighbours(rng: SplitMix64) -> Made:
    n, k = randint(rng, 8, 12), randint(rng, 3, 4)
    count = sum(all(b - a > 1 for a, b in pairwise(c)) for c in combinations(range(n), k))
    return Made(
        f"A row has ${n}$ chairs. In how many ways can ${k}$ of them be chosen so that no two chosen chairs "
        "are side by "
        "side?",
        count,
    )


def derangements(rng: SplitMix64) -> Made:
    n, fixed = randint(rng, 5, 7), randint(rng, 0, 2)
    count = sum(sum(p[i] == i for i in range(n)) == fixed for p in permutations(range(n)))
    return Made(
        f"${n}$ people leave their coats at a door and get one back at random. In how many ways can this "
        "happen so that "
        f"exactly ${fixed}$ of them {'gets' if fixed == 1 else 'get'} the own coat?",
        count,
    )


def square_sums(rng: SplitMix64) -> Made:
    limit = randint(rng, 40, 200)
    found = {a * a + b * b for a, b in product(range(1, 15), repeat=2) if a * a + b * b <= limit}
    return Made(
        f"How many positive integers up to ${limit}$ are the sum of the squares of two positive integers?", len(found)
    )


def solutions(rng: SplitMix64) -> Made:
    total = randint(rng, 10, 24)
    count = sum(a + 2 * b + 3 * c == total for a, b, c in product(range(1, total), repeat=3))
    return Made(f"How many triples $(a,b,c)$ of positive integers satisfy $a + 2b + 3c = {total}$?", count)


def last_digits(rng: SplitMix64) -> Made:
    number, power = randint(rng, 3, 99), randint(rng, 50, 2030)
    return Made(f"Find the remainder when ${number}^{{{power}}}$ is divided by $1000$.", pow(number, power, 1000))


def recurrence(rng: SplitMix64) -> Made:
    a, b, index = randint(rng, 1, 5), randint(rng, 1, 5), randint(rng, 20, 60)
    modulus, first, second = 1000, randint(rng, 1, 9), randint(rng, 1, 9)
    x, y = first, second
    for _ in range(index - 1):
        x, y = y, (a * y + b * x) % modulus
    return Made(
        f"A sequence begins with $t_1 = {first}$ and $t_2 = {second}$, and $t_{{n+1}} = {a}t_n + "
        f"{b}t_{{n-1}}$. Find the "
        f"remainder when $t_{{{index}}}$ is divided by $1000$.",
        x % modulus,
    )


def triangles(rng: SplitMix64) -> Made:
    longest = randint(rng, 8, 20)
    count = sum(a + b > longest for a in range(1, longest + 1) for b in range(a, longest + 1))
    return Made(
        f"How many triangles with sides of whole lengths have a longest side of ${longest}$? Congruent ones "
        "count once.",
        count,
    )


def reduced_sum(rng: SplitMix64) -> Made:
    balls, red, drawn = randint(rng, 7, 11), randint(rng, 3, 5), 3
    ways = [sum(c < red for c in chosen) == 2 for chosen in combinations(range(balls), drawn)]
    above, below = sum(ways), len(ways)
    common = gcd(above, below)
    return Made(
        f"An urn holds ${balls}$ balls, ${red}$ of them red. Three are drawn at once. The probability that "
        "exactly two of "
        "them are red is $\\frac{m}{n}$ in lowest terms. Find $m + n$.",
        (above + below) // common,
    )


ALL = (
    coprime_count, digit_sum, least_residue, lattice_paths, no_neighbours, derangements, square_sums, solutions,
    last_digits, recurrence, triangles, reduced_sum,
)  # fmt: skip
UP_TO_999 = tuple(template for template in ALL if template is not derangements)
