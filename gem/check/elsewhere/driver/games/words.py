"""Rules of Hangman, Wordle and Crosswords."""

from __future__ import annotations

import re
import string
from typing import Any

from ..playing import ended
from ..promise import BrokenPromise, NotApplicable, Promise
from ..subjects import Subject
from .reading import box, is_refused, opening, suffix, word_length

HANGMAN, WORDLE, CROSSWORDS = ("Hangman",), ("Wordle",), ("Crosswords",)
MANY_BOARDS = 300
A_WORD = "CATERWAULS"
NO_WORD = "Z"


def revealing_every_letter_ends_it(subject: Subject) -> None:
    env = subject.make()
    for seed in range(20):
        letters = _letters(env, seed)
        env.reset(seed=seed)
        if not letters:
            continue
        for letter in letters:
            result = env.step(box(letter))
            if ended(result):
                break
        if not ended(result) and "_" not in suffix(result[-1]):
            raise BrokenPromise("Every letter of the word is revealed, and the episode goes on without a win.")
        if ended(result):
            return
    raise NotApplicable("No word could be revealed letter by letter within the turns.")


def _letters(env: Any, seed: int) -> list[str]:
    """The letters of the word, each tried in an episode of its own."""
    _, info = env.reset(seed=seed)
    hidden = suffix(info).count("_")
    found = []
    for letter in string.ascii_uppercase:
        env.reset(seed=seed)
        result = env.step(box(letter))
        if suffix(result[-1]).count("_") < hidden:
            found.append(letter)
    return found


def its_examples_are_of_what_they_say(subject: Subject) -> None:
    text = opening(subject.make())
    letter = re.search(r"letter[^\\]*\\boxed\{(\w+)\}", text)
    word = re.search(r"word[^\\]*\\boxed\{(\w+)\}", text[letter.end() :] if letter else text)
    if letter and word and len(letter.group(1)) > 1 and len(word.group(1)) == 1:
        raise BrokenPromise(f"Its example of a letter is {letter.group(1)}, and that of a word {word.group(1)}.")


def a_repeated_word_is_named(subject: Subject) -> None:
    env = subject.make()
    length = word_length(opening(env, 1))
    said, errors = [], []
    for _ in range(2):
        result = env.step(box(NO_WORD * length))
        if ended(result):
            raise NotApplicable("A wrong word ends the episode.")
        said.append(re.sub(r"\d+", "", str(result[0])))
        errors.append(bool(result[-1].get("error")))
    if said[0] == said[1] and errors[0] == errors[1]:
        raise BrokenPromise("The same wrong word twice gets the same reply; repeated letters are named.")


def its_feedback_is_text(subject: Subject) -> None:
    env = subject.make()
    observation = str(env.step(box(A_WORD[: word_length(opening(env))]))[0])
    if "['" in observation:
        raise BrokenPromise("Its feedback is a list of Python, with brackets and quotation marks.")


def words_that_are_none_are_refused(subject: Subject) -> None:
    named, registered = subject.arguments()
    if not registered.get("only_real_words", named.get("only_real_words")):
        raise NotApplicable("It does not say that only real words count.")
    env = subject.make()
    guess = NO_WORD * word_length(opening(env))
    if not is_refused(env.step(box(guess))):
        raise BrokenPromise(f"{guess} is accepted as a word, although only_real_words is set.")


def no_clue_contains_its_answer(subject: Subject) -> None:
    env = subject.make()
    env.reset(seed=0)
    if not isinstance(getattr(env, "clues", None), dict):
        raise NotApplicable("Its answers cannot be read: it has no attribute clues.")
    for seed in range(MANY_BOARDS):
        said = suffix(env.reset(seed=seed)[1]).lower()
        told = [word for word in env.clues if re.search(rf"\b{re.escape(str(word).lower())}", said)]
        if told:
            raise BrokenPromise(f"Seed {seed}: the clues contain the answer {told[0]}.")


def _promise(title: str, attempt: Any, advice: str, families: tuple[str, ...]) -> Promise:
    return Promise(title, attempt, advice, ("gem",), families)


PROMISES = (
    _promise(
        "Revealing every letter ends it.",
        revealing_every_letter_ends_it,
        "Compare the shown letters with the word after each guess.",
        HANGMAN,
    ),
    _promise("Its examples are of what they say.", its_examples_are_of_what_they_say, "Swap the examples.", HANGMAN),
    _promise("A repeated word is named.", a_repeated_word_is_named, "Remember words as well as letters.", HANGMAN),
    _promise("Its feedback is text.", its_feedback_is_text, "Join the marks with spaces.", WORDLE),
    _promise(
        "Words that are none are refused.",
        words_that_are_none_are_refused,
        "Look guesses up in the list of words, or drop the argument.",
        WORDLE,
    ),
    _promise("No clue contains its answer.", no_clue_contains_its_answer, "Leave such clues out.", CROSSWORDS),
)
