"""Templates whose programs take a loop or a condition."""

from __future__ import annotations

from gem.datasets.drawn_programs.draw import Draw, Problem, Template, program


def multiples(draw: Draw) -> Problem:
    """Numbers up to a bound that two numbers do not both divide."""
    first, second = draw.two(2, 12)
    text = (
        f"The input is a whole number n from 0 to 999. Print how many numbers from 1 to n are divisible by {first} or "
        f"by {second}, but not by both."
    )
    solution = (
        "n = int(input())\n"
        f"print(sum((k % {first} == 0) != (k % {second} == 0) for k in range(1, n + 1)))"
    )  # fmt: skip
    return program(text, solution, draw.inputs(draw.natural))


def places(draw: Draw) -> Problem:
    """Every so many letters of a word."""
    step, start = draw.number(2, 4), draw.number(1, 3)
    text = (
        f"The input is a word. Print its letters from number {start} on, {step} places apart, in capitals. The first "
        "letter has number 1; if there is no letter, print an empty line."
    )
    return program(text, f"print(input()[{start - 1}::{step}].upper())", draw.inputs(draw.word))


def clipped(draw: Draw) -> Problem:
    """A sum whose parts are kept in a range."""
    low = draw.number(-40, 10)
    high = low + draw.number(5, 60)
    text = (
        f"The input is one line of whole numbers. Raise those below {low} to {low}, lower those above {high} to "
        f"{high}, and print the sum of all."
    )
    solution = (
        f"x = map(int, input().split())\nprint(sum(min(max(n, {low}), {high}) for n in x))"
    )  # fmt: skip
    return program(text, solution, draw.inputs(draw.line_of_numbers))


def digits(draw: Draw) -> Problem:
    """A checksum of digits."""
    weight, modulus = draw.number(2, 9), draw.number(7, 97)
    text = (
        "The input is a whole number that is not negative. Number its digits from the left, beginning with 1. Multiply "
        f"each digit by {weight} times its number, add the products, and print the remainder of the sum divided by "
        f"{modulus}."
    )
    solution = f"s = input()\nprint(sum(int(d) * {weight} * i for i, d in enumerate(s, 1)) % {modulus})"
    return program(text, solution, draw.inputs(draw.natural))


def steps(draw: Draw) -> Problem:
    """A sequence until it is beyond a bound."""
    factor, more, bound = draw.number(2, 5), draw.number(1, 30), draw.number(2000, 90000, 1000)
    text = (
        f"The input is a whole number from 0 to 999. Multiply it by {factor} and add {more}, again and again, until "
        f"it is greater than {bound}. Print how many times that was done; 0 if it is greater at first."
    )
    solution = (
        f"n, count = int(input()), 0\nwhile n <= {bound}:\n    n, count = n * {factor} + {more}, count + 1\n"
        "print(count)"
    )  # fmt: skip
    return program(text, solution, draw.inputs(draw.natural))


def long_words(draw: Draw) -> Problem:
    """The words of a length, in an order."""
    length = draw.number(4, 8)
    (order, flag) = draw.pick((("in the order of the alphabet", ""), ("from z to a", ", reverse=True")))
    text = (
        f"The input is one line of words. Print those with at least {length} letters {order}, separated by spaces, "
        "each as often as it is there; an empty line if there are none."
    )
    solution = f"print(' '.join(sorted([w for w in input().split() if len(w) >= {length}]{flag})))"
    return program(text, solution, draw.inputs(draw.line_of_words))


def shifted(draw: Draw) -> Problem:
    """A word with every letter moved in the alphabet."""
    shift = draw.number(1, 25)
    text = (
        f"The input is a word of small letters. Move each letter {shift} places on in the alphabet, where a follows z, "
        "and print the word."
    )
    solution = f"print(''.join(chr((ord(c) - 97 + {shift}) % 26 + 97) for c in input()))"
    return program(text, solution, draw.inputs(draw.word))


def gaps(draw: Draw) -> Problem:
    """Differences of neighbours."""
    bound = draw.number(5, 90)
    text = (
        "The input is one line of whole numbers. Print how many of them differ from the number before them by more "
        f"than {bound}."
    )
    solution = (
        "x = list(map(int, input().split()))\n"
        f"print(sum(abs(b - a) > {bound} for a, b in zip(x, x[1:])))"
    )  # fmt: skip
    return program(text, solution, draw.inputs(draw.line_of_numbers))


TEMPLATES: tuple[Template, ...] = (multiples, places, clipped, digits, steps, long_words, shifted, gaps)
