r"""Brings answers into one spelling: `\dfrac{1}{2}\,\text{cm}.` and `$\frac12$` become `\frac{1}{2}`.

Only what cannot change the value is removed: typesetting, units after a number, a full stop, currency signs.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_ANSWER_CHARS = 2_000
"""A longer answer counts as wrong without being read."""

_REPLACEMENTS = {
    "\\dfrac": "\\frac", "\\tfrac": "\\frac", "\\cfrac": "\\frac", "\\left": "", "\\right": "", "\\bigl": "",
    "\\bigr": "", "\\big": "", "\\Big": "", "\\displaystyle": "", "\\limits": "", "\\!": "", "\\,": " ", "\\;": " ",
    "\\:": " ", "\\quad": " ", "\\qquad": " ", "\\ ": " ", "~": " ", "\\$": "", "\\%": "%", "\\cdot": "*",
    "\\times": "*", "\\ast": "*", "\\div": "/", "\\leq": "\\le", "\\geq": "\\ge", "\\neq": "\\ne", "\\lbrace": "\\{",
    "\\rbrace": "\\}", "\\lvert": "|", "\\rvert": "|", "\\colon": ":", "\\to": "\\rightarrow",
    "\\varnothing": "\\emptyset", "\\degree": "°", "\\varphi": "\\phi", "\\varepsilon": "\\epsilon",
}  # fmt: skip
_SIGNS = str.maketrans(
    {"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "÷": "/", "π": "\\pi ", "√": "\\sqrt ", "∞": "\\infty ",
     "≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "∪": "\\cup ", "∩": "\\cap ", "∅": "\\emptyset ", "\u00a0": " ",
     "\u202f": " ", "²": "^2", "³": "^3", "½": "\\frac{1}{2}", "\\": "\\"}
)  # fmt: skip
_COMMAND = re.compile(r"\\(?:\\|[a-zA-Z]+|[!,;: $%])")
_SPACES = re.compile(r"\s+")
_TEXT_COMMAND = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mbox|operatorname|bf|rm)\s*\{([^{}]*)\}"
)
_DEGREES = re.compile(r"(?<!\s)\s*(?:\^\s*+(?:\{\s*+)?(?:\\circ|°)(?:\s*\})?|°|\\circ\b)\s*+(?=$|[,;)\]}])")
_CURRENCY = re.compile(r"\\?\$|€|£|\\[()\[\]]")
_THOUSANDS = re.compile(r"(?<![\d.])(\d{1,3})((?:(?:\{,\}|,\\!|\\,)\d{3})+)(?![\d,])")
_COMMAS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_SHORT_FRACTION = re.compile(r"\\frac\s*(\d|[a-zA-Z]|\{[^{}]*\})\s*(\d|[a-zA-Z]|\{[^{}]*\})")
_SHORT_ROOT = re.compile(r"\\sqrt\s*([\da-zA-Z])")
_POWER = re.compile(r"\^\s*([\da-zA-Z])(?![\d.]*\d)")
_AROUND_SIGNS = re.compile(r"\s*([-+*/=^_,;:(){}\[\]|<>!%])\s*")
_BETWEEN_LETTERS = re.compile(r"(?<=[\da-zA-Z)}]) (?=\\)|(?<=[)}]) (?=[\da-zA-Z])|(?<=\d) (?=[a-zA-Z])")

UNITS = frozenset({
    "m", "cm", "mm", "km", "nm", "ft", "in", "inch", "inches", "foot", "feet", "yard", "yards", "mile", "miles",
    "meter", "meters", "metre", "metres", "centimeter", "centimeters", "kilometer", "kilometers", "s", "sec",
    "second", "seconds", "min", "minute", "minutes", "h", "hr", "hour", "hours", "day", "days", "week", "weeks",
    "month", "months", "year", "years", "g", "kg", "gram", "grams", "kilogram", "kilograms", "lb", "lbs", "pound",
    "pounds", "oz", "ounce", "ounces", "ton", "tons", "l", "liter", "liters", "litre", "litres", "ml", "gallon",
    "gallons", "dollar", "dollars", "cent", "cents", "usd", "euro", "euros", "degree", "degrees", "radian",
    "radians", "rad", "percent", "unit", "units", "square", "squares", "cubic", "sq", "mph", "kmh", "hz", "joule",
    "joules", "newton", "newtons", "watt", "watts", "volt", "volts", "ohm", "ohms", "kelvin", "erg", "ergs", "ways",
    "people", "students", "apples", "points",
})  # fmt: skip
"""Words that are removed after a number."""
_UNIT = re.compile(r"(?<=[\d)}%])\s*(?:[a-zA-Z]++(?:\^\{?-?\d\}?)?[\s./*]*)+$")
_UNIT_WORDS = re.compile(r"[a-zA-Z]+")


@lru_cache(maxsize=4096)
def tidy(answer: str) -> str:
    """The answer in the common spelling, with words as plain text."""
    text = _CURRENCY.sub("", answer.translate(_SIGNS)).strip().rstrip(" .")
    text = _THOUSANDS.sub(lambda match: match[1] + re.sub(r"\D", "", match[2]), text)
    text = _COMMAND.sub(lambda match: _REPLACEMENTS.get(match[0], match[0]), text)
    text = _TEXT_COMMAND.sub(r" \1 ", text)
    text = _DEGREES.sub("", text)
    if not any(sign in text for sign in "()[]{}"):  # (12,102) is a pair
        text = _COMMAS.sub(lambda match: match[0].replace(",", ""), text)
    for _ in range(3):  # in nested fractions, the inner ones come first
        text = _SHORT_FRACTION.sub(lambda match: f"\\frac{_braced(match[1])}{_braced(match[2])}", text)
    text = _SHORT_ROOT.sub(r"\\sqrt{\1}", text)
    text = _POWER.sub(r"^{\1}", text)
    text = _SPACES.sub(" ", text).strip().rstrip(" .")
    text = _AROUND_SIGNS.sub(r"\1", text)
    return _BETWEEN_LETTERS.sub("", text).strip()


def without_units(text: str) -> str:
    """A tidied answer without the units after its number; unchanged if it has none."""
    match = _UNIT.search(text)
    if match is None or not all(word.lower() in UNITS for word in _UNIT_WORDS.findall(match[0])):
        return text
    return text[: match.start()].strip()


def _braced(argument: str) -> str:
    return argument if argument.startswith("{") else "{" + argument + "}"
