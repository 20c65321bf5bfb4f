"""Templates of about three steps."""

from __future__ import annotations

from gem.datasets.word_problems.draw import Draw, Problem, Template


def discount(draw: Draw) -> Problem:
    """A price after a reduction, several times."""
    buyer, count = draw.person(), draw.number(2, 12)
    price, percent = draw.number(20, 400, 20), draw.number(5, 60, 5)
    text = (
        f"A chair costs {price} euros. Today all prices are {percent} percent lower. {buyer} takes {count} "
        "chairs. How many euros does that make?"
    )
    return text, count * price * (100 - percent) // 100


def tank(draw: Draw) -> Problem:
    """Filling against a leak."""
    leak, gain = draw.number(2, 30), draw.number(3, 40)
    minutes, start = draw.number(8, 90), draw.number(10, 300)
    text = (
        f"A tank holds {start + gain * minutes} litres, and {start} litres are in it. Every minute {gain + leak} "
        f"litres flow in, and {leak} litres are lost through a leak. After how many minutes is the tank full?"
    )
    return text, minutes


def trains(draw: Draw) -> Problem:
    """Two that come towards each other."""
    first, second = draw.number(50, 130, 10), draw.number(60, 180, 10)
    minutes = draw.number(12, 150, 6)
    text = (
        f"Two stations are {(first + second) * minutes // 60} km apart. At the same moment a train leaves each of "
        f"them towards the other, one at {first} km/h and one at {second} km/h. After how many minutes do they "
        "meet?"
    )
    return text, minutes


def average(draw: Draw) -> Problem:
    """What is needed for a higher average."""
    pupil, count = draw.person(), draw.number(3, 9)
    mean = draw.number(40, 80)
    wanted = mean + draw.number(1, 5)
    text = (
        f"After {count} tests {pupil} has {mean} points on average. {pupil} wants an average of {wanted} points "
        "after the next test. How many points does that test have to bring?"
    )
    return text, wanted * (count + 1) - mean * count


def paint(draw: Draw) -> Problem:
    """Parts of a mixture."""
    less, more = draw.two(2, 13)
    unit = draw.number(3, 45)
    text = (
        f"For a shade of green, a painter mixes {less} parts of blue with {more} parts of yellow. "
        f"{(less + more) * unit} litres of green are wanted. How many litres of yellow are needed beyond the "
        "litres of blue?"
    )
    return text, (more - less) * unit


def overtime(draw: Draw) -> Problem:
    """Hours that are paid better."""
    worker, wage = draw.person(), draw.number(12, 48, 2)
    normal, extra = draw.number(30, 40), draw.number(2, 14)
    text = (
        f"{worker} earns {wage} euros an hour, and half as much again for every hour after the first {normal} of "
        f"a week. This week {worker} has worked {normal + extra} hours. How many euros is that?"
    )
    return text, wage * normal + wage * 3 // 2 * extra


def tickets(draw: Draw) -> Problem:
    """Two unknown numbers, of which one is asked."""
    child, adult = draw.two(3, 28)
    children, adults = draw.number(15, 240), draw.number(15, 240)
    text = (
        f"A ticket to the zoo costs {adult} euros for adults and {child} euros for children. On one day "
        f"{children + adults} tickets were sold for {child * children + adult * adults} euros altogether. How "
        "many children came?"
    )
    return text, children


def reading(draw: Draw) -> Problem:
    """A sum that grows evenly."""
    reader, first = draw.person(), draw.number(5, 40)
    more, days = draw.number(2, 9), draw.number(6, 20)
    text = (
        f"{reader} begins a long book and reads {first} pages on the first day, and on every further day {more} "
        f"pages more than on the day before. How many pages has {reader} read after {days} days?"
    )
    return text, days * first + more * days * (days - 1) // 2


def machines(draw: Draw) -> Problem:
    """Two that work side by side."""
    fast, slow = draw.two(2, 15)
    minutes = fast * slow * draw.number(2, 12)
    text = (
        f"One machine finishes a part every {fast} minutes, an older one every {slow} minutes. Both are switched "
        f"on together and run for {minutes} minutes. How many parts do they finish?"
    )
    return text, minutes // fast + minutes // slow


TEMPLATES: tuple[Template, ...] = (
    discount,
    tank,
    trains,
    average,
    paint,
    overtime,
    tickets,
    reading,
    machines,
)
