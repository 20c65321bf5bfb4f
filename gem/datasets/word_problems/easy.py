"""Templates of one or two steps."""

from __future__ import annotations

from gem.datasets.word_problems.draw import Draw, Problem, Template


def collection(draw: Draw) -> Problem:
    """Some are added, some given away."""
    (owner, friend), things = draw.people(2), draw.things()
    first, more = draw.number(20, 400), draw.number(5, 200)
    given = draw.number(2, first)
    text = (
        f"{owner} has {first} {things} and finds {more} more in a drawer. Later {owner} gives {given} of them to "
        f"{friend}. How many {things} does {owner} have then?"
    )
    return text, first + more - given


def seats(draw: Draw) -> Problem:
    """A product, less some."""
    rows, width = draw.number(6, 60), draw.number(8, 45)
    broken = draw.number(3, rows)
    text = (
        f"A theatre has {rows} rows with {width} seats in each of them. {broken} seats are broken and stay empty. "
        "How many people can sit down?"
    )
    return text, rows * width - broken


def change(draw: Draw) -> Problem:
    """Change for a note."""
    buyer, count, price = draw.person(), draw.number(2, 9), draw.number(35, 480, 5)
    note = draw.pick((5000, 10000))
    text = (
        f"One loaf costs {price} cents. {buyer} takes {count} loaves and pays with a note of {note // 100} euros. "
        f"How many cents does {buyer} get back?"
    )
    return text, note - count * price


def ages(draw: Draw) -> Problem:
    """An age from a difference."""
    younger, older = draw.people(2)
    age, difference, years = draw.number(4, 60), draw.number(2, 35), draw.number(3, 30)
    text = (
        f"{younger} is {age} years old. {older} was born {difference} years before {younger}. How old will "
        f"{older} be in {years} years?"
    )
    return text, age + difference + years


def ribbon(draw: Draw) -> Problem:
    """Some of the equal parts of a whole."""
    parts, length = draw.number(4, 24), draw.number(6, 75)
    used = draw.number(2, parts - 1)
    text = (
        f"A ribbon of {parts * length} cm is cut into {parts} pieces of the same length, and {used} of the pieces "
        "are used up. How many centimetres of ribbon were used?"
    )
    return text, used * length


def film(draw: Draw) -> Problem:
    """Minutes of a clock."""
    hour, minute, length = draw.number(1, 8), draw.number(5, 55, 5), draw.number(61, 199)
    text = (
        f"A film begins at {hour}:{minute:02d} in the afternoon and takes {length} minutes. How many minutes "
        "after noon is it over?"
    )
    return text, hour * 60 + minute + length


def eggs(draw: Draw) -> Problem:
    """What a division leaves."""
    size, boxes = draw.number(6, 30), draw.number(9, 150)
    rest = draw.number(1, size - 1)
    text = (
        f"A farm packs {size * boxes + rest} eggs into boxes of {size}, and a box is sold only when it is full. "
        "How many eggs are left over?"
    )
    return text, rest


def fence(draw: Draw) -> Problem:
    """The way around a rectangle, less a gate."""
    length, width, gate = draw.number(15, 160), draw.number(8, 90), draw.number(2, 6)
    text = (
        f"A garden has the shape of a rectangle, {length} metres long and {width} metres wide. A fence goes all "
        f"around it, except for a gate of {gate} metres. How many metres long is the fence?"
    )
    return text, 2 * (length + width) - gate


TEMPLATES: tuple[Template, ...] = (collection, seats, change, ages, ribbon, film, eggs, fence)
