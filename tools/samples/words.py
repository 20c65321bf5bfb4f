"""Word problems of elementary school: one step (as in ASDiv) and several (as in GSM8K)."""

from __future__ import annotations

from gem.rng import SplitMix64, choice, randint
from tools.samples.problem import Made

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


def _two(rng: SplitMix64) -> tuple[str, str]:
    first = choice(rng, PEOPLE)
    return first, choice(rng, [name for name in PEOPLE if name != first])


def give_away(rng: SplitMix64) -> Made:
    one, other = _two(rng)
    thing, had = choice(rng, THINGS), randint(rng, 20, 90)
    given = randint(rng, 3, had - 5)
    return Made(f"{one} had {had} {thing} and gave {given} of them to {other}. How many {thing} are left?", had - given)


def find_more(rng: SplitMix64) -> Made:
    one, _ = _two(rng)
    thing, had, found = choice(rng, THINGS), randint(rng, 12, 80), randint(rng, 5, 60)
    return Made(f"{one} had {had} {thing} and found {found} more. How many does {one} have now?", had + found)


def compare(rng: SplitMix64) -> Made:
    one, other = _two(rng)
    thing, less = choice(rng, THINGS), randint(rng, 8, 60)
    more = less + randint(rng, 4, 40)
    return Made(f"{one} has {more} {thing}, {other} has {less}. How many more does {one} have?", more - less)


def boxes(rng: SplitMix64) -> Made:
    food, each, count = choice(rng, FOODS), randint(rng, 4, 15), randint(rng, 3, 12)
    return Made(f"A shop has {count} boxes with {each} {food} in each. How many {food} are that?", each * count)


def share(rng: SplitMix64) -> Made:
    food, each, count = choice(rng, FOODS), randint(rng, 3, 12), randint(rng, 3, 9)
    return Made(f"{count} children share {each * count} {food} equally. How many does each child get?", each)


def pages(rng: SplitMix64) -> Made:
    name, each, days = choice(rng, PEOPLE), randint(rng, 6, 25), randint(rng, 3, 14)
    left = randint(rng, 5, 60)
    return Made(
        f"{name} reads {each} pages a day. After {days} days {left} pages of the book are left. How many pages does it "
        "have?",
        each * days + left,
    )


def ages(rng: SplitMix64) -> Made:
    one, other = _two(rng)
    young, years = randint(rng, 5, 14), randint(rng, 3, 20)
    times = randint(rng, 2, 4)
    return Made(
        f"{one} is {young} years old, and {other} is {times} times as old. How old will {other} be in {years} years?",
        young * times + years,
    )


def train(rng: SplitMix64) -> Made:
    speed, hours = randint(rng, 4, 16) * 10, randint(rng, 2, 7)
    return Made(f"A train runs {speed} km in an hour. How many kilometres does it run in {hours} hours?", speed * hours)


def rectangle(rng: SplitMix64) -> Made:
    long, wide = randint(rng, 8, 30), randint(rng, 3, 7)
    return Made(
        f"A garden is {long} m long and {wide} m wide. How many metres of fence go around it?", 2 * (long + wide)
    )


def market(rng: SplitMix64) -> Made:
    name, food = choice(rng, PEOPLE), choice(rng, FOODS)
    price, bought, note = randint(rng, 2, 6), randint(rng, 3, 9), choice(rng, (60, 80, 100))
    bread = randint(rng, 2, 5)
    return Made(
        f"{name} buys {bought} bags of {food} for {price} dollars each and a loaf of bread for {bread} dollars. How "
        f"many dollars of a {note}-dollar note does {name} get back?",
        note - price * bought - bread,
    )


def wages(rng: SplitMix64) -> Made:
    name, wage, hours = choice(rng, PEOPLE), randint(rng, 6, 15) * 2, randint(rng, 3, 9)
    over = randint(rng, 2, 5)
    return Made(
        f"{name} earns {wage} dollars an hour, and one and a half times as much for every hour over 40 in a week. Last "
        f"week {name} worked {40 + over} hours, and {hours} hours less than that the week before. How many dollars did "
        f"{name} earn in both weeks?",
        _earned(wage, 40 + over) + _earned(wage, 40 + over - hours),
    )


def _earned(wage: int, hours: int) -> int:
    return wage * min(hours, 40) + wage * 3 // 2 * max(hours - 40, 0)


def discount(rng: SplitMix64) -> Made:
    price, off, count = randint(rng, 2, 12) * 20, choice(rng, (10, 15, 20, 25, 30)), randint(rng, 2, 5)
    post = randint(rng, 4, 12)
    return Made(
        f"A lamp costs {price} dollars, and today {off}% less. A school orders {count} lamps and pays {post} dollars "
        "for the post. How many dollars does it pay altogether?",
        price * (100 - off) // 100 * count + post,
    )


def tank(rng: SplitMix64) -> Made:
    filled, leaks, hours = randint(rng, 12, 30), randint(rng, 2, 8), randint(rng, 3, 9)
    start = randint(rng, 20, 90)
    return Made(
        f"A tank holds {start} litres of water. A pipe adds {filled} litres an hour and a leak loses {leaks} litres an "
        f"hour. After {hours} hours the leak is closed, and the pipe runs for two hours more. How many litres "
        "are in the "
        "tank then?",
        start + (filled - leaks) * hours + 2 * filled,
    )


def fractions(rng: SplitMix64) -> Made:
    name, parts = choice(rng, PEOPLE), randint(rng, 3, 5)
    total = parts * randint(rng, 4, 12) * 2
    rest = total - total // parts
    return Made(
        f"{name} picks {total} {choice(rng, FOODS)}, gives a {_ORDINAL[parts]} of them to a neighbour and "
        "sells half of "
        f"the rest for 3 dollars each. How many dollars does {name} get?",
        rest // 2 * 3,
    )


_ORDINAL = {3: "third", 4: "quarter", 5: "fifth"}


def classes(rng: SplitMix64) -> Made:
    rooms, each, absent = randint(rng, 4, 9), randint(rng, 18, 28), randint(rng, 5, 17)
    bus = randint(rng, 30, 45)
    going = rooms * each - absent
    return Made(
        f"A school has {rooms} classes of {each} children. On the day of an outing {absent} children are ill, and the "
        f"others go by bus. A bus has {bus} seats. How many buses are needed?",
        -(-going // bus),
    )


def savings(rng: SplitMix64) -> Made:
    one, other = _two(rng)
    start, first, second = randint(rng, 10, 40), randint(rng, 3, 6), randint(rng, 7, 12)
    weeks = randint(rng, 4, 9)
    ahead = start + first * weeks
    return Made(
        f"{one} has {start} dollars and saves {first} dollars a week. {other} has nothing and saves {second} dollars a "
        f"week. How many dollars more does {one} have than {other} after {weeks} weeks? Write a negative number if it "
        "is less.",
        ahead - second * weeks,
    )


def recipe(rng: SplitMix64) -> Made:
    people, flour = randint(rng, 2, 6), randint(rng, 6, 18) * 10
    more, eggs = randint(rng, 2, 5), randint(rng, 1, 3)
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
