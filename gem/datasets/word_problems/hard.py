"""Templates of four steps and more, or with a thought that has to be found first."""

from __future__ import annotations

import math
from fractions import Fraction

from gem.datasets.word_problems.draw import WEEKDAYS, Draw, Problem, Template

MAX_AGE = 100


def pursuit(draw: Draw) -> Problem:
    """One who starts later and is faster."""
    walker, rider = draw.people(2)
    slow, faster, factor = draw.number(4, 22), draw.number(3, 18), draw.number(2, 6)
    text = (
        f"{walker} leaves the village at {slow} km/h. {factor * faster} minutes later {rider} sets out on the "
        f"same road, at {slow + faster} km/h. For how many minutes does {rider} ride before catching up with "
        f"{walker}?"
    )
    return text, slow * factor


def balls(draw: Draw) -> Problem:
    """A probability without replacement."""
    red, blue = draw.number(3, 25), draw.number(3, 25)
    total = red + blue
    colour, count = draw.pick((("red", red), ("blue", blue)))
    text = (
        f"A bag has {red} red and {blue} blue balls. Two balls are taken out, one after the other, and none is "
        f"put back. What is the probability that both are {colour}? Give it as a fraction."
    )
    return text, Fraction(count * (count - 1), total * (total - 1))


def jar(draw: Draw) -> Problem:
    """Three kinds of coins, and two conditions."""
    twenties, fifties, factor = draw.number(5, 60), draw.number(4, 80), draw.number(2, 4)
    tens = factor * twenties
    times = {2: "twice", 3: "three times", 4: "four times"}[factor]
    text = (
        f"A jar holds {tens + twenties + fifties} coins of 10, 20 and 50 cents, worth "
        f"{tens * 10 + twenties * 20 + fifties * 50} cents in all. There are {times} as many coins of 10 cents as "
        "of 20 cents. How many coins of 50 cents are there?"
    )
    return text, fifties


def watering(draw: Draw) -> Problem:
    """When three rhythms meet again."""
    first, second = draw.people(2)
    short, long = draw.two(3, 20)
    day = draw.pick(WEEKDAYS)
    text = (
        f"{first} waters the plants of an office every {short} days and {second} every {long} days. Today, on a "
        f"{day}, both have watered them. After how many days do both water them on a {day} again?"
    )
    return text, math.lcm(short, long, 7)


def culture(draw: Draw) -> Problem:
    """Growth, and a loss at every step."""
    start, factor, steps = draw.number(30, 400), draw.number(2, 3), draw.number(3, 5)
    taken = draw.number(5, start // 2)
    word = {2: "doubles", 3: "triples"}[factor]
    text = (
        f"A dish has {start} cells. Every hour their number {word}, and right after that a robot takes {taken} of "
        f"them away. How many cells are in the dish after {steps} hours?"
    )
    number = start
    for _ in range(steps):
        number = number * factor - taken
    return text, number


def lockers(draw: Draw) -> Problem:
    """Counting with two divisors."""
    first, second = draw.two(3, 14)
    low, high = draw.number(20, 300), draw.number(900, 4000)
    text = (
        f"Lockers have the numbers from {low} to {high}. Those whose number is a multiple of {first} are painted, "
        f"but a number that is a multiple of {second} stays unpainted in any case. How many lockers are painted?"
    )
    both = math.lcm(first, second)
    return text, _multiples(first, low, high) - _multiples(both, low, high)


def _multiples(of: int, low: int, high: int) -> int:
    """How many multiples of a number there are from `low` to `high`."""
    return high // of - (low - 1) // of


def together(draw: Draw) -> Problem:
    """Two who work together until one leaves."""
    leaver, stayer = draw.people(2)
    first, second = draw.number(6, 24), draw.number(6, 24)
    hours = draw.number(1, first * second // (first + second) - 1)
    text = (
        f"{leaver} alone would need {first} hours to paint a bridge, {stayer} alone {second} hours. They paint "
        f"together for {hours} {'hour' if hours == 1 else 'hours'}; then {leaver} goes home. How many more hours "
        f"does {stayer} need to finish? Give a whole number or a fraction."
    )
    return text, second * (1 - hours * (Fraction(1, first) + Fraction(1, second)))


def gifts(draw: Draw) -> Problem:
    """From the end back to the beginning."""
    (owner, friend, sibling), things = draw.people(3), draw.things()
    first, second = draw.number(2, 6), draw.number(2, 6)
    middle, last_gift = second * draw.number(12, 60), draw.number(1, 8)
    first_gift = draw.number(1, 9)
    first_gift += -(middle + first_gift) % (first - 1) if first > 2 else 0
    start = (middle + first_gift) * first // (first - 1)
    left = middle - middle // second - last_gift
    text = (
        f"{owner} gives {friend} one {_ordinal(first)} of all {things}, and {first_gift} more. Of those that "
        f"remain, {sibling} gets one {_ordinal(second)}, and {last_gift} more. Now {owner} has {left} {things}. "
        "How many were there at first?"
    )
    return text, start


def _ordinal(number: int) -> str:
    """The name of a part: half, third."""
    return {2: "half", 3: "third", 4: "quarter", 5: "fifth", 6: "sixth"}[number]


def clock(draw: Draw) -> Problem:
    """The angle between two hands."""
    hour, minute = draw.number(1, 12), draw.number(1, 59)
    text = (
        f"What is the smaller angle between the hour hand and the minute hand of a clock at {hour}:{minute:02d}, "
        "in degrees? The hour hand moves evenly."
    )
    angle = abs(Fraction(60 * (hour % 12) + minute, 2) - 6 * minute)
    return text, min(angle, 360 - angle)


def twice_as_old(draw: Draw) -> Problem:
    """Ages that come closer in proportion."""
    child, parent = draw.people(2)
    later, now = draw.two(2, 7)
    unit = draw.number(1, MAX_AGE // (now * (later - 1)))
    years, age = (now - later) * unit, (later - 1) * unit
    text = (
        f"{parent} is {now} times as old as {child}. In {years} years {parent} will be {later} times as old as "
        f"{child} is then. How old is {parent} now?"
    )
    return text, now * age


TEMPLATES: tuple[Template, ...] = (
    pursuit,
    balls,
    jar,
    watering,
    culture,
    lockers,
    together,
    gifts,
    clock,
    twice_as_old,
)
