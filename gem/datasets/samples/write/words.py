"""Word problems of elementary school: one step (as in ASDiv) and several (as in GSM8K)."""

from __future__ import annotations

from gem.datasets.samples.write.problem import Made
from gem.draw import Mixer, between, choice

PEOPLE = (
    "Aisha",
    "Ben",
    "Carla",
    "Deniz",
    "Emil",
    "Farah",
    "Goran",
    "Hana",
    "Ivo",
    "Jun",
    "Kofi",
    "Lena",
    "Mina",
    "Noor",
)
THINGS = ("marbles", "stickers", "shells", "pencils", "stamps", "buttons", "cards", "beads")
FOODS = ("apples", "plums", "rolls", "figs", "biscuits", "eggs")


def _two(rng: Mixer) -> tuple[str, str]:
    first = choice(rng, PEOPLE)
    return first, choice(rng, [name for name in PEOPLE if name != first])


def give_away(rng: Mixer) -> Made:
    one, other = _two(rng)
    thing, had = choice(rng, THINGS), between(rng, 20, 90)
    given = between(rng, 3, had - 5)
    return Made(f"{one} had {had} {thing} and gave {given} of them to {other}. How many {thing} are left?", had - given)


def find_more(rng: Mixer) -> Made:
    one, _ = _two(rng)
    thing, had, found = choice(rng, THINGS), between(rng, 12, 80), between(rng, 5, 60)
    return Made(f"{one} had {had} {thing} and found {found} more. How many does {one} have now?", had + found)


def compare(rng: Mixer) -> Made:
    one, other = _two(rng)
    thing, less = choice(rng, THINGS), between(rng, 8, 60)
    more = less + between(rng, 4, 40)
    return Made(f"{one} has {more} {thing}, {other} has {less}. How many more does {one} have?", more - less)


def boxes(rng: Mixer) -> Made:
    food, each, count = choice(rng, FOODS), between(rng, 4, 15), between(rng, 3, 12)
    return Made(f"A shop has {count} boxes with {each} {food} in each. How many {food} are that?", each * count)


def share(rng: Mixer) -> Made:
    food, each, count = choice(rng, FOODS), between(rng, 3, 12), between(rng, 3, 9)
    return Made(f"{count} children share {each * count} {food} equally. How many does each child get?", each)


def pages(rng: Mixer) -> Made:
    name, each, days = choice(rng, PEOPLE), between(rng, 6, 25), between(rng, 3, 14)
    left = between(rng, 5, 60)
    return Made(
        f"{name} reads {each} pages a day. After {days} days {left} pages of the book are left. How many pages does it "
        "have?",
        each * days + left,
    )


def ages(rng: Mixer) -> Made:
    one, other = _two(rng)
    young, years = between(rng, 5, 14), between(rng, 3, 20)
    times = between(rng, 2, 4)
    return Made(
        f"{one} is {young} years old, and {other} is {times} times as old. How old will {other} be in {years} years?",
        young * times + years,
    )


def train(rng: Mixer) -> Made:
    speed, hours = between(rng, 4, 16) * 10, between(rng, 2, 7)
    return Made(f"A train runs {speed} km in an hour. How many kilometres does it run in {hours} hours?", speed * hours)


def rectangle(rng: Mixer) -> Made:
    long, wide = between(rng, 8, 30), between(rng, 3, 7)
    return Made(
        f"A garden is {long} m long and {wide} m wide. How many metres of fence go around it?", 2 * (long + wide)
    )


def market(rng: Mixer) -> Made:
    name, food = choice(rng, PEOPLE), choice(rng, FOODS)
    price, bought, note = between(rng, 2, 6), between(rng, 3, 9), choice(rng, (60, 80, 100))
    bread = between(rng, 2, 5)
    return Made(
        f"{name} buys {bought} bags of {food} for {price} dollars each and a loaf of bread for {bread} dollars. How "
        f"many dollars of a {note}-dollar note does {name} get back?",
        note - price * bought - bread,
    )


def wages(rng: Mixer) -> Made:
    name, wage, hours = choice(rng, PEOPLE), between(rng, 6, 15) * 2, between(rng, 3, 9)
    over = between(rng, 2, 5)
    return Made(
        f"{name} earns {wage} dollars an hour, and one and a half times as much for every hour over 40 in a week. Last "
        f"week {name} worked {40 + over} hours, and {hours} hours less than that the week before. How many dollars did "
        f"{name} earn in both weeks?",
        _earned(wage, 40 + over) + _earned(wage, 40 + over - hours),
    )


def _earned(wage: int, hours: int) -> int:
    return wage * min(hours, 40) + wage * 3 // 2 * max(hours - 40, 0)


def discount(rng: Mixer) -> Made:
    price, off, count = between(rng, 2, 12) * 20, choice(rng, (10, 15, 20, 25, 30)), between(rng, 2, 5)
    post = between(rng, 4, 12)
    return Made(
        f"A lamp costs {price} dollars, and today {off}% less. A school orders {count} lamps and pays {post} dollars "
        "for the post. How many dollars does it pay altogether?",
        price * (100 - off) // 100 * count + post,
    )


def tank(rng: Mixer) -> Made:
    filled, leaks, hours = between(rng, 12, 30), between(rng, 2, 8), between(rng, 3, 9)
    start = between(rng, 20, 90)
    return Made(
        f"A tank holds {start} litres of water. A pipe adds {filled} litres an hour and a leak loses {leaks} litres an "
        f"hour. After {hours} hours the leak is closed, and the pipe runs for two hours more. How many litres "
        "are in the "
        "tank then?",
        start + (filled - leaks) * hours + 2 * filled,
    )


def fractions(rng: Mixer) -> Made:
    name, parts = choice(rng, PEOPLE), between(rng, 3, 5)
    total = parts * between(rng, 4, 12) * 2
    rest = total - total // parts
    return Made(
        f"{name} picks {total} {choice(rng, FOODS)}, gives a {_ORDINAL[parts]} of them to a neighbour and "
        "sells half of "
        f"the rest for 3 dollars each. How many dollars does {name} get?",
        rest // 2 * 3,
    )


_ORDINAL = {3: "third", 4: "quarter", 5: "fifth"}


def classes(rng: Mixer) -> Made:
    rooms, each, absent = between(rng, 4, 9), between(rng, 18, 28), between(rng, 5, 17)
    bus = between(rng, 30, 45)
    going = rooms * each - absent
    return Made(
        f"A school has {rooms} classes of {each} children. On the day of an outing {absent} children are ill, and the "
        f"others go by bus. A bus has {bus} seats. How many buses are needed?",
        -(-going // bus),
    )


def savings(rng: Mixer) -> Made:
    one, other = _two(rng)
    start, first, second = between(rng, 10, 40), between(rng, 3, 6), between(rng, 7, 12)
    weeks = between(rng, 4, 9)
    ahead = start + first * weeks
    return Made(
        f"{one} has {start} dollars and saves {first} dollars a week. {other} has nothing and saves {second} dollars a "
        f"week. How many dollars more does {one} have than {other} after {weeks} weeks? Write a negative number if it "
        "is less.",
        ahead - second * weeks,
    )


def recipe(rng: Mixer) -> Made:
    people, flour = between(rng, 2, 6), between(rng, 6, 18) * 10
    more, eggs = between(rng, 2, 5), between(rng, 1, 3)
    return Made(
        f"A recipe for {people} people takes {people * flour} g of flour and {people * eggs} eggs. How many grams of "
        f"flour does one need for {people + more} people, if a tenth of the flour is spilled and has to be replaced?",
        _exact((people + more) * flour * 11, 10),
    )


def _exact(above: int, below: int) -> int:
    assert above % below == 0
    return above // below


ONE_STEP = (give_away, find_more, compare, boxes, share, pages, ages, train, rectangle)
SEVERAL_STEPS = (market, wages, discount, tank, fractions, classes, savings, recipe)
