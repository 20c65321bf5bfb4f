"""Bombs: texts that make a careless grader or parser compute for seconds, hours or ever."""

from collections.abc import Iterator

from gem.grading.latex import MAX_ANSWER_CHARS

PUMPS = (
    "a", "a ", "a b ", "I do ", "5", "5a", "5cm^", "a^5", "½", "²", "∞", "√", "1{,}111", "1,111", "\\,", "\\quad",
    "~", " ",
    "\\text", "\\text{", "\\text{a}", "\\frac", "\\frac{", "\\frac1", "\\frac{1}{2}", "\\sqrt", "\\sqrt2", "\\sqrt{",
    "^",
    "^1", "^{", "(", "[", "{", "\\{", "(1,", "1,", "1;", "((1,2),", "-", "+", "1+", "!", "5!", "%", "=", "x=", "x_",
    "x_{",
    "\\log", "\\sin", "sin", "\\pi", "^\\circ", "°", "$", "€", "x^", "2^", "|", "1/", "1.", ".", "\\infty", "\\cup",
    "cm ", "5cm^A", "''", "12_", "é", "\\le", "\\\\", "\\!", "1+\\frac{1}{", "\\sqrt{1+", "|x", "9^{",
)  # fmt: skip
"""What an answer repeats."""
AROUND = (("", ""), ("5", "?"), ("(", ")"), ("\\sqrt{", "}"), ("2^{", "}"))


def answers() -> Iterator[str]:
    """Answers of the greatest length that is read, each the repetition of something."""
    for pump in PUMPS:
        for before, after in AROUND:
            yield before + pump * ((MAX_ANSWER_CHARS - len(before) - len(after)) // len(pump)) + after


def _tower(height: int, base: str = "9") -> str:
    return "^{".join([base] * height) + "}" * (height - 1)


TOO_LARGE = (
    *(_tower(height, base) for height in range(4, 12) for base in ("9", "99", "1.5", "(2+3)")),
    *("^".join(["7"] * height) for height in range(4, 9)),
    *("**".join(["7"] * height) for height in range(4, 9)),
    *(f"10^{{{number}}}" for number in (10**5, 10**9, -(10**6), 10**30)),
    *(f"{number}!" for number in (10**4, 10**5, 10**9, 10**50)),
    *("(" * depth + "10!" + ")!" * depth for depth in range(1, 6)),
    "10^{10^{10}}!", "(10^9)!", "(2^{30})!", "\\frac{(10^6)!}{(10^6-1)!}", "9^{9!}", "9^{(9!)^{2}}",
    "((9^9)^9)^{99999}",
    *(f"\\binom{{{2 * number}}}{{{number}}}" for number in (10**5, 10**9, 10**20)), "{1000000 \\choose 500000}",
    *(f"\\{name}_{{n=1}}^{{{end}}} n" for name in ("sum", "prod") for end in ("10^9", "100000", "9^{9}", "2^{40}")),
    "\\sum_{n=-10^9}^{1} n", "\\prod_{k=1}^{99999999} \\sin k", "\\int\\int\\int\\int x dx",
    *(f"({'+'.join('abcdefgh'[:count])})^{{{power}}}" for count, power in ((8, 60), (6, 40), (4, 200), (3, 999))),
    *(f"\\exp({inner})" for inner in ("10^6", "\\exp(20)", "9^{9}")), "\\sinh(10^9)",
    *("1" * digits for digits in (1_001, 1_999)), *(f"1e{exponent}" for exponent in (10**4, 10**9, -(10**9))),
    *(opening * depth + "x" + closing * depth for opening, closing in ("()", "[]", "{}", ("\\{", "\\}"), ("\\sqrt{",
    "}"),
      ("\\frac{1}{1+", "}"), ("x^{", "}"), ("\\left(", "\\right)")) for depth in (40, 150)),
    "|99999999|!", "||99999999||!", "\\lvert 99999999\\rvert!", "\\lfloor 99999999\\rfloor!",
    "\\lceil 99999999\\rceil!",
    "|9^{9000}|^{9000}", "\\left|9^{9000}\\right|^{9000}", "9^|99999999|", "9^\\frac{99999999}{1}", "\\sqrt{99999999}!",
    "9^\\bigl(99999999\\bigr)", "9^{\\lfloor 99999999\\rfloor}",
    "9^{x-x+9999999999}", "9^{0x+999999999}", "(x-x+99999999)!", "\\binom{x-x+10^9}{x-x+10^8}", "(x+y)^{n-n+99999}",
    "\\exp(x-x+10^9)", "\\prod_{i=1}^{9999} 9^{9999}", "\\prod_{i=1}^{9999} -9^{9999}", "\\sum_{k=1}^{9} 9^{9^k}",
    "\\sum_{i=1}^{9} 9^{9^i}", "\\prod_{k=1}^{3000} 9^{k}", "\\sum\\limits_{n=1}^{10^9} n",
    *(f"{chr(92)}{outer}_{{i=1}}^{{9999}} {chr(92)}{inner}_{{j=1}}^{{9999}} {chr(92)}{inner}_{{k=1}}^{{9999}} 2"
      for outer in ("sum", "prod") for inner in ("sum", "prod")),
    "\\sum_{i=1}^{999} (1+\\sum_{j=1}^{999} (1+\\sum_{k=1}^{999} k))",
    *(prefix * 100 + "2" for prefix in ("\\sqrt", "\\sin", "-", "+-", "\\frac", "\\log\\ln")),
)  # fmt: skip
"""Formulas that have to be refused before SymPy reads them."""
