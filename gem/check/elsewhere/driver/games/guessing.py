"""Rules of Guess The Number and Tower of Hanoi, where there is hardly a board to read."""

from __future__ import annotations

from ..promise import BrokenPromise, NotApplicable, Promise
from ..subjects import Subject
from .reading import box, is_documented, is_refused

GUESS, HANOI = ("GuessTheNumber",), ("TowerofHanoi",)
MOST_GUESSES = 50


def a_number_out_of_range_is_no_format_error(subject: Subject) -> None:
    env = subject.make()
    env.reset(seed=0)
    _, _, terminated, truncated, _ = env.step(box(0))
    if terminated or truncated:
        raise BrokenPromise("The guess 0 ends the episode as if nothing had been said.")


def a_repeated_guess_earns_nothing(subject: Subject) -> None:
    if is_documented(subject, r"last guess earns|distance"):
        raise NotApplicable("Its documentation says that the last guess earns something.")
    env = subject.make()
    for seed in range(20):
        env.reset(seed=seed)
        for _ in range(MOST_GUESSES):
            _, reward, terminated, truncated, info = env.step(box(1))
            if terminated or truncated:
                break
        if 0 < reward < 1 and not info.get("success"):
            raise BrokenPromise(f"Seed {seed}: the same wrong guess in every turn earns {reward:.2f} in the last one.")


def a_move_has_two_towers(subject: Subject) -> None:
    env = subject.make()
    env.reset(seed=0)
    if not is_refused(env.step(box("A A"))):
        raise BrokenPromise("Moving a disk from tower A to tower A counts as a move.")


PROMISES = (
    Promise(
        "A number out of range is no format error.",
        a_number_out_of_range_is_no_format_error,
        "Compare with None: 0 is a number.",
        ("gem",),
        GUESS,
    ),
    Promise(
        "A repeated guess earns nothing, or the rules say otherwise.",
        a_repeated_guess_earns_nothing,
        "Pay for the last new guess only, or write down what is paid.",
        ("gem",),
        GUESS,
    ),
    Promise("A move has two towers.", a_move_has_two_towers, "Refuse a move to the same tower.", ("gem",), HANOI),
)
