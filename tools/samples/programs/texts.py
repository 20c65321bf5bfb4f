"""Problems about text."""

from __future__ import annotations

from gem.rng import choice
from tools.samples.programs.problem import Program, whole, word, words

TEXTS = [
    Program(
        "Palindrome",
        "The input is a line of up to 1000 characters. Print `yes` if its letters and digits read the same from both "
        "ends, whatever their case, otherwise `no`. Other characters do not count.",
        "text = [c.lower() for c in input() if c.isalnum()]\nprint('yes' if text == text[::-1] else 'no')",
        ("A man, a plan, a canal: Panama", "ab", "x", "No 'x' in Nixon", "race a car"),
        lambda rng: word(rng, 6, "ab"),
    ),
    Program(
        "Run lengths",
        "The input is a word of 1 to 1000 letters. Print it with each run of one letter as the letter and the length "
        "of the run: `aaab` becomes `a3b1`.",
        "from itertools import groupby\nprint(''.join(c + str(len(list(g))) for c, g in groupby(input().strip())))",
        ("aaab", "z", "abab", "cccccccccccc"),
        lambda rng: word(rng, 20, "abc"),
    ),
    Program(
        "Caesar's cipher",
        "The first line holds a shift from 0 to 25, the second a text. Move every letter so many places on in the "
        "alphabet, after z comes a; keep the case and all other characters.",
        "shift, text = int(input()), input()\nout = ''\nfor c in text:\n    if c.isascii() and c.isalpha():\n"
        "        a = ord('a' if c.islower() else 'A')\n        c = chr((ord(c) - a + shift) % 26 + a)\n"
        "    out += c\nprint(out)",
        ("3\nHello, xyz!", "0\nsame", "25\nAbC 12"),
        lambda rng: f"{whole(rng, 1, 25)}\n{words(rng, 5)}",
    ),
    Program(
        "Most frequent word",
        "The input is a line of 1 to 1000 words in lower case. Print the word that occurs most often; of several the "
        "first in the alphabet.",
        "from collections import Counter\ncount = Counter(input().split())\n"
        "print(min(count, key=lambda w: (-count[w], w)))",
        ("the cat and the dog", "b a", "one", "b b a a c"),
        lambda rng: words(rng, 30, "ab"),
    ),
    Program(
        "Anagrams",
        "The input is two lines with a word each. Print `yes` if the second has the same letters as the first, each as "
        "often, whatever their case, otherwise `no`.",
        "print('yes' if sorted(input().strip().lower()) == sorted(input().strip().lower()) else 'no')",
        ("Listen\nSilent", "aab\nabb", "a\na", "abc\nabcd"),
        lambda rng: f"{word(rng, 4, 'ab')}\n{word(rng, 4, 'ab')}",
    ),
    Program(
        "Brackets",
        "The input is a line of 1 to 10000 characters out of `()[]{}`. Print `yes` if every bracket is closed by one "
        "of its kind in the right order, otherwise the position (from 1) of the first character at which that can no "
        "longer be; if it is only that some are still open at the end, print `open`.",
        "stack = []\nfor place, c in enumerate(input().strip(), 1):\n    if c in '([{':\n        stack.append(c)\n"
        "    elif not stack or stack.pop() + c not in ('()', '[]', '{}'):\n        print(place)\n        break\n"
        "else:\n    print('open' if stack else 'yes')",
        ("([]{})", "([)]", "((", ")", "{}[]("),
        lambda rng: word(rng, 8, "()[]{}"),
    ),
    Program(
        "Title case",
        "The input is a line of words in lower case. Print it with a capital at the beginning of each word, except for "
        "`a`, `an`, `and`, `of`, `the` where they are not the first word.",
        "small = {'a', 'an', 'and', 'of', 'the'}\n"
        "print(' '.join(w if i and w in small else w[:1].upper() + w[1:] for i, w in enumerate(input().split())))",
        ("the lord of the rings", "a", "pride and prejudice"),
        lambda rng: " ".join(choice(rng, ("a", "of", "the", word(rng, 6), word(rng, 6))) for _ in range(5)),
    ),
    Program(
        "Longest common prefix",
        "The first line holds a count n from 1 to 100, each of the next n lines a word of lower-case "
        "letters. Print the "
        "longest beginning that all share, or `-` if there is none.",
        "import os\nprint(os.path.commonprefix([input().strip() for _ in range(int(input()))]) or '-')",
        ("3\nflower\nflow\nflight", "1\nalone", "2\ndog\ncat"),
        lambda rng: f"3\nab{word(rng, 4, 'ab')}\nab{word(rng, 4, 'ab')}\na{word(rng, 5, 'ab')}",
    ),
    Program(
        "Vowels and consonants",
        "The input is a line of text. Print how many vowels (a, e, i, o, u) and how many other letters of the English "
        "alphabet it has, whatever their case.",
        "text = input().lower()\nvowels = sum(c in 'aeiou' for c in text)\n"
        "print(vowels, sum('a' <= c <= 'z' for c in text) - vowels)",
        ("Hello World!", "AEIOU", "xyz 123"),
        lambda rng: words(rng, 6),
    ),
    Program(
        "Longest word",
        "The input is a line of words of letters, with single spaces between. Print the longest word; of several the "
        "last.",
        "best = ''\nfor w in input().split():\n    if len(w) >= len(best):\n        best = w\nprint(best)",
        ("a quick brown fox", "one", "ab cd ef"),
        lambda rng: words(rng, 8),
    ),
    Program(
        "Unique substrings",
        "The input is a word of 1 to 100 letters. Print how many different non-empty substrings it has.",
        "s = input().strip()\nprint(len({s[i:j] for i in range(len(s)) for j in range(i + 1, len(s) + 1)}))",
        ("abab", "a", "aaaaaaaaaa"),
        lambda rng: word(rng, 15, "abc"),
    ),
    Program(
        "Longest stretch without repetition",
        "The input is a word of 1 to 100000 letters. Print the length of its longest stretch in which no letter occurs "
        "twice.",
        "start, best, last = 0, 0, {}\nfor i, c in enumerate(input().strip()):\n"
        "    start = max(start, last.get(c, -1) + 1)\n"
        "    last[c] = i\n    best = max(best, i - start + 1)\nprint(best)",
        ("abcabcbb", "bbbb", "pwwkew", "a"),
        lambda rng: word(rng, 40, "abcdef"),
    ),
    Program(
        "Edit distance",
        "The input is two lines with a word of 1 to 100 letters each. Print the fewest insertions, removals and "
        "replacements of single letters that turn the first into the second.",
        "a, b = input().strip(), input().strip()\nrow = list(range(len(b) + 1))\nfor i, c in enumerate(a, 1):\n"
        "    new = [i]\n    for j, d in enumerate(b, 1):\n"
        "        new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (c != d)))\n    row = new\nprint(row[-1])",
        ("kitten\nsitting", "a\na", "abc\nxyz"),
        lambda rng: f"{word(rng, 10, 'abc')}\n{word(rng, 10, 'abc')}",
    ),
    Program(
        "Reverse the words",
        "The input is a line of words with one or more spaces between. Print the words in the opposite order with "
        "single spaces between.",
        "print(*input().split()[::-1])",
        ("the sky  is blue", "one", "  a   b "),
        lambda rng: words(rng, 9),
    ),
    Program(
        "A very long sum",
        "The input is two lines with a non-negative integer of up to 5000 digits each. Print their sum.",
        "import sys\nif hasattr(sys, 'set_int_max_str_digits'):\n    sys.set_int_max_str_digits(0)\n"
        "print(int(input()) + int(input()))",
        ("12\n30", "0\n0", "9" * 60 + "\n1"),
        lambda rng: f"{whole(rng, 0, 10**15)}{whole(rng, 0, 10**15)}\n{whole(rng, 0, 10**15)}",
    ),
    Program(
        "Postfix",
        "The input is an expression in postfix notation: integers from 0 to 99 and the signs `+`, `-`, `*`, with "
        "spaces between. Print its value. (`2 3 -` is -1.)",
        "stack = []\nfor part in input().split():\n    if part.isdigit():\n        stack.append(int(part))\n    else:\n"
        "        b, a = stack.pop(), stack.pop()\n"
        "        stack.append(a + b if part == '+' else a - b if part == '-' else a * b)\nprint(stack[0])",
        ("3 4 + 2 *", "7", "2 3 -", "1 2 3 4 + + *"),
        lambda rng: (
            f"{whole(rng, 0, 99)} {whole(rng, 0, 99)} {choice(rng, '+-*')} {whole(rng, 0, 9)} {choice(rng, '+-*')}"
        ),
    ),
]
