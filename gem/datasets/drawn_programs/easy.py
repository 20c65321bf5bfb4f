"""Templates whose programs take one or two lines."""

from __future__ import annotations

from gem.datasets.drawn_programs.draw import Draw, Problem, Template, program


def linear(draw: Draw) -> Problem:
    """A multiple of a number, and some more."""
    factor, more = draw.number(2, 99), draw.number(1, 99)
    text = f"The input is a whole number. Print {factor} times the number, plus {more}."
    return program(text, f"print(int(input()) * {factor} + {more})", draw.inputs(draw.whole))


def remainder(draw: Draw) -> Problem:
    """What a division leaves."""
    divisor = draw.number(3, 60)
    text = f"The input is a whole number. Print the remainder of its division by {divisor}."
    return program(text, f"print(int(input()) % {divisor})", draw.inputs(draw.natural))


def power(draw: Draw) -> Problem:
    """A power of a number, less some."""
    exponent, less = draw.number(2, 6), draw.number(1, 99)
    text = f"The input is a whole number. Raise it to the power of {exponent}, subtract {less}, and print the result."
    return program(text, f"print(int(input()) ** {exponent} - {less})", draw.inputs(draw.whole))


PAIRS = (
    ("their sum", "a + b"),
    ("the first minus the second", "a - b"),
    ("the second minus the first", "b - a"),
    ("their product", "a * b"),
    ("the larger of them", "max(a, b)"),
    ("the smaller of them", "min(a, b)"),
)


def pair(draw: Draw) -> Problem:
    """Something of two numbers."""
    (what, expression), factor = draw.pick(PAIRS), draw.number(2, 40)
    text = f"The input is two whole numbers, one in each line. Take {what}, and print it {factor} times as large."
    if expression[0] in "ab":
        expression = f"({expression})"
    solution = f"a = int(input())\nb = int(input())\nprint({expression} * {factor})"
    return program(text, solution, draw.inputs(draw.whole, draw.whole))


def repeated(draw: Draw) -> Problem:
    """A word several times."""
    count = draw.number(2, 30)
    (what, expression) = draw.pick((("it", "s"), ("its last letter", "s[-1]"), ("its first letter", "s[0]")))
    text = f"The input is a word. Print {what} {count} times in a row, without spaces."
    return program(text, f"s = input()\nprint({expression} * {count})", draw.inputs(draw.word))


def letters(draw: Draw) -> Problem:
    """How often a word has a letter."""
    letter, more = draw.pick("aeiorstn"), draw.number(1, 60)
    text = f"The input is a word. Count how often it has the letter {letter}, add {more}, and print the result."
    return program(text, f"print(input().count('{letter}') + {more})", draw.inputs(draw.word))


TOTALS = (
    ("their sum", "sum(x)"),
    ("the largest of them", "max(x)"),
    ("the smallest of them", "min(x)"),
    ("how many there are", "len(x)"),
)


def total(draw: Draw) -> Problem:
    """Something of a line of numbers."""
    (what, expression), less = draw.pick(TOTALS), draw.number(1, 80)
    text = f"The input is one line of whole numbers. Take {what}, subtract {less}, and print the result."
    solution = f"x = list(map(int, input().split()))\nprint({expression} - {less})"
    return program(text, solution, draw.inputs(draw.line_of_numbers))


def above(draw: Draw) -> Problem:
    """How many numbers are beyond a bound."""
    bound, (what, sign) = draw.number(-40, 60), draw.pick((("greater", ">"), ("less", "<")))
    text = f"The input is one line of whole numbers. Print how many of them are {what} than {bound}."
    solution = f"x = list(map(int, input().split()))\nprint(len([n for n in x if n {sign} {bound}]))"
    return program(text, solution, draw.inputs(draw.line_of_numbers))


TEMPLATES: tuple[Template, ...] = (linear, remainder, power, pair, repeated, letters, total, above)
