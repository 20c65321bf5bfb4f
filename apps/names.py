"""The names that people give: to themselves, to agents, checkpoints and jobs. One rule for all of them.

A name is shown beside those of others, in lists, in logs and in terminals. So it consists of what can be seen, reads in
the order in which it is stored, and is not the name of something that the site itself provides.
"""

from __future__ import annotations

import unicodedata

from django.core.exceptions import ValidationError

RESERVED = {
    "admin", "anonymous", "deleted", "deletedaccount", "deletedagent", "expert", "gemweb", "human", "random", "root",
    "staff", "system", "you",
}  # fmt: skip
"""Names that would be mistaken for a built-in agent, for the people who run the site, or for what was deleted."""
_ARTICLES = {"a", "an", "the"}
_CYRILLIC = zip("АВЕКМНОРСТУХЅІЈһагеорсухѕіјкмнпт", "ABEKMHOPCTYXSIJhareopcyxsijkmhnt", strict=True)
_GREEK = zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορτυχη", "ABEZHIKMNOPTYXaikvoptuxn", strict=True)
_LOOK_ALIKES = {ord(letter): latin for letter, latin in (*_CYRILLIC, *_GREEK)}
"""Letters of other scripts that are read as Latin ones, from the confusables of Unicode (UTS 39)."""

_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Control and escape characters, format characters (also those that reverse the text), and what is not assigned."""
_BLANK = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10)}
"""Letters and marks that are shown as nothing, besides those of the categories above."""
_BLANK_PLANE = range(0xE0000, 0xE1000)
MAX_MARKS = 3
"""Combining marks on one letter; more would cover the lines above and below."""


def validate_name(name: str) -> None:
    """Check a name, as a validator of a form field.

    Raises:
        ValidationError: with a sentence, if it has hidden characters, or nothing that could be read.
    """
    marks = 0
    for character in name:
        category = unicodedata.category(character)
        if _is_hidden(character):
            raise ValidationError("This name has an invisible character. Type it again without it.")
        if category == "Zs" and character != " ":
            raise ValidationError("This name has an unusual space. Use plain spaces.")
        marks = marks + 1 if category.startswith("M") else 0
        if marks > MAX_MARKS:
            raise ValidationError(f"A letter of this name has more than {MAX_MARKS} marks. Use fewer.")
    if not any(unicodedata.category(character)[0] in "LNS" for character in name):
        raise ValidationError("A name needs a letter, a digit or a symbol.")


def validate_free_name(name: str) -> None:
    """Check a name of a person or an agent, which must not be one of the site's own.

    Raises:
        ValidationError: with a sentence, as `validate_name`, or if it is reserved.
    """
    validate_name(name)
    if is_reserved(name):
        raise ValidationError(f"The name {name} is reserved. Choose another one.")
    if any(_mixes_look_alikes(word) for word in _words(unicodedata.normalize("NFKC", name))):
        raise ValidationError("A word of this name mixes letters that look alike. Use one alphabet in each word.")


def visible(name: str) -> str:
    """A name that a program has sent, which nobody can type again: without hidden characters, as in `validate_name`.

    In place of each is U+FFFD, or a space for one that separates words.
    """
    return "".join(
        (" " if character.isspace() else "\ufffd") if _is_hidden(character) else character for character in name
    )


def _is_hidden(character: str) -> bool:
    number = ord(character)
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or number in _BLANK or number in _BLANK_PLANE


def is_reserved(name: str) -> bool:
    """Whether a name reads as one of the site's own, in any case, width, spacing or script.

    Articles, punctuation and marks on letters make no difference.
    """
    latin = unicodedata.normalize("NFKC", name).translate(_LOOK_ALIKES).casefold()
    unmarked = "".join(letter for letter in unicodedata.normalize("NFKD", latin) if not unicodedata.combining(letter))
    words = _words(unmarked)
    return not RESERVED.isdisjoint({"".join(words), "".join(word for word in words if word not in _ARTICLES)})


def _words(name: str) -> list[str]:
    """The parts of a name between its spaces and punctuation."""
    return "".join(letter if unicodedata.category(letter)[0] in "LMN" else " " for letter in name).split()


def _mixes_look_alikes(word: str) -> bool:
    """Whether a word has Latin letters and letters of another script that are read as Latin ones."""
    is_partly_latin = any(unicodedata.name(letter, "").startswith("LATIN ") for letter in word)
    return is_partly_latin and any(ord(letter) in _LOOK_ALIKES for letter in word)
