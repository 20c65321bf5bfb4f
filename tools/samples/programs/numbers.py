"""Problems about whole numbers."""

from __future__ import annotations

from tools.samples.programs.problem import Program, listed, several, whole

NUMBERS = [
    Program(
        "Sum of digits",
        "The input is one integer n with 0 <= n < 10^18. Print the sum of its decimal digits.",
        "print(sum(map(int, input().strip())))",
        ("1203", "0", "999999999999999999"),
        lambda rng: whole(rng, 0, 10**15),
    ),
    Program(
        "Trailing zeros",
        "The input is one integer n with 0 <= n <= 10^9. Print how many zeros the decimal writing of n! ends with.",
        "n = int(input())\ncount = 0\nwhile n:\n    n //= 5\n    count += n\nprint(count)",
        ("25", "0", "4", "1000000000"),
        lambda rng: whole(rng, 1, 10**6),
    ),
    Program(
        "Greatest common divisor",
        "The first line holds a count n with 1 <= n <= 100, the second n positive integers up to 10^9. Print the "
        "greatest integer that divides all of them.",
        "import math\ninput()\nprint(math.gcd(*map(int, input().split())))",
        ("3\n12 18 30", "1\n7", "2\n1000000000 999999999"),
        lambda rng: listed(rng, 5, 1, 60),
    ),
    Program(
        "Collatz length",
        "Start with the integer n (1 <= n <= 10^6) of the input. While it is not 1, halve it if it is even, otherwise "
        "triple it and add 1. Print how many times it was changed.",
        "n = int(input())\nsteps = 0\nwhile n != 1:\n    n = 3 * n + 1 if n % 2 else n // 2\n    steps += 1\n"
        "print(steps)",
        ("6", "1", "27", "837799"),
        lambda rng: whole(rng, 1, 10**5),
    ),
    Program(
        "Binary ones",
        "The input is one integer n with 0 <= n < 2^60. Print how many ones its binary writing has.",
        "print(bin(int(input())).count('1'))",
        ("13", "0", "1152921504606846975"),
        lambda rng: whole(rng, 0, 2**50),
    ),
    Program(
        "Next prime",
        "The input is one integer n with 0 <= n <= 10^7. Print the smallest prime number greater than n.",
        "def prime(n):\n    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))\n\n"
        "n = int(input()) + 1\nwhile not prime(n):\n    n += 1\nprint(n)",
        ("10", "0", "2", "113"),
        lambda rng: whole(rng, 0, 10**7),
    ),
    Program(
        "Prime factors",
        "The input is one integer n with 2 <= n <= 10^10. Print its prime factors in increasing order, each as often "
        "as it divides n, with spaces between.",
        "n = int(input())\nfactors, d = [], 2\nwhile d * d <= n:\n    while n % d == 0:\n        factors.append(d)\n"
        "        n //= d\n    d += 1\nif n > 1:\n    factors.append(n)\nprint(*factors)",
        ("84", "2", "1024", "9999999967"),
        lambda rng: whole(rng, 2, 10**6),
    ),
    Program(
        "Roman numerals",
        "The input is one integer n with 1 <= n <= 3999. Print it as a Roman numeral (IV for 4, CM for 900).",
        "n, text = int(input()), ''\nfor value, sign in zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),\n"
        "                       'M CM D CD C XC L XL X IX V IV I'.split()):\n    text += sign * (n // value)\n"
        "    n %= value\nprint(text)",
        ("1994", "4", "3999"),
        lambda rng: whole(rng, 1, 3999),
    ),
    Program(
        "Another base",
        "The input is an integer n with 0 <= n <= 10^15 and a base b with 2 <= b <= 16. Print n in base b; the digits "
        "after 9 are the letters a to f.",
        "n, b = map(int, input().split())\ntext = ''\nwhile n:\n    text = '0123456789abcdef'[n % b] + text\n"
        "    n //= b\n"
        "print(text or '0')",
        ("255 16", "0 2", "1000000 7"),
        lambda rng: f"{whole(rng, 0, 10**12)} {whole(rng, 2, 16)}",
    ),
    Program(
        "Perfect, abundant, deficient",
        "The input is one integer n with 1 <= n <= 10^6. Add up its divisors smaller than n. Print `perfect` if the "
        "sum is n, `abundant` if it is greater, `deficient` if it is smaller.",
        "n = int(input())\ntotal = sum(d for d in range(1, n // 2 + 1) if n % d == 0)\n"
        "print('perfect' if total == n else 'abundant' if total > n else 'deficient')",
        ("28", "1", "12", "496"),
        lambda rng: whole(rng, 1, 5000),
    ),
    Program(
        "Remainder of a power",
        "The input is three integers a, e and m with 0 <= a, e <= 10^18 and 1 <= m <= 10^9. Print the remainder of a^e "
        "divided by m. (0^0 is 1.)",
        "a, e, m = map(int, input().split())\nprint(pow(a, e, m))",
        ("2 10 1000", "0 0 1", "123456789 1000000000000000000 1000000000"),
        lambda rng: f"{whole(rng, 0, 10**9)} {whole(rng, 0, 10**9)} {whole(rng, 1, 10**6)}",
    ),
    Program(
        "Ways up the stairs",
        "You climb n stairs (0 <= n <= 90), taking one or two at a time. Print in how many ways you can do it.",
        "a, b = 1, 1\nfor _ in range(int(input())):\n    a, b = b, a + b\nprint(a)",
        ("4", "0", "1", "90"),
        lambda rng: whole(rng, 2, 60),
    ),
    Program(
        "Change",
        "The first line holds an amount from 0 to 1000 and a count k from 1 to 8, the second k different values of "
        "coins from 1 to 200. Print the fewest coins that make the amount, or -1 if none do. Any number of each coin "
        "is there.",
        "amount, _ = map(int, input().split())\ncoins = list(map(int, input().split()))\n"
        "best = [0] + [10 ** 9] * amount\nfor a in range(1, amount + 1):\n"
        "    best[a] = min([best[a - c] + 1 for c in coins if c <= a], default=10 ** 9)\n"
        "print(best[amount] if best[amount] < 10 ** 9 else -1)",
        ("11 3\n1 2 5", "0 1\n7", "3 1\n2", "6 3\n1 3 4"),
        lambda rng: f"{whole(rng, 1, 300)} 3\n{whole(rng, 2, 9)} {whole(rng, 10, 25)} {whole(rng, 26, 90)}",
    ),
    Program(
        "Leap days",
        "The input is two years a <= b from 1 to 9999. Print how many leap years there are from a to b, both included "
        "(divisible by 4, and not by 100 unless by 400).",
        "a, b = map(int, input().split())\ncount = lambda y: y // 4 - y // 100 + y // 400\n"
        "print(count(b) - count(a - 1))",
        ("1999 2004", "1900 1900", "2000 2000", "1 9999"),
        lambda rng: " ".join(sorted(several(rng, 2, 1000, 9999).split(), key=int)),
    ),
    Program(
        "Triangle",
        "The input is three positive integers up to 10^9, the sides. Print `none` if no triangle has them (with an "
        "area greater than 0), otherwise `equilateral`, `isosceles` or `scalene`.",
        "a, b, c = sorted(map(int, input().split()))\nif a + b <= c:\n    print('none')\n"
        "else:\n    print(('equilateral', 'isosceles', 'scalene')[len({a, b, c}) - 1])",
        ("3 4 5", "1 2 3", "7 7 7", "5 8 5"),
        lambda rng: several(rng, 3, 1, 12),
    ),
    Program(
        "Pascal's triangle",
        "The input is one integer n with 0 <= n <= 30. Print row n of Pascal's triangle (row 0 is `1`), with spaces "
        "between the numbers.",
        "import math\nn = int(input())\nprint(*(math.comb(n, k) for k in range(n + 1)))",
        ("4", "0", "1", "30"),
        lambda rng: whole(rng, 2, 25),
    ),
    Program(
        "Clock hands",
        "The input is a time as `h:mm` with 0 <= h <= 23. Print the smaller angle between the hour hand and the minute "
        "hand of a clock, in degrees with one digit after the point.",
        "h, m = map(int, input().split(':'))\nangle = abs(60 * (h % 12) - 11 * m) / 2\nprint(min(angle, 360 - angle))",
        ("3:30", "0:00", "12:00", "6:00", "9:05"),
        lambda rng: f"{whole(rng, 0, 23)}:{int(whole(rng, 0, 59)):02d}",
    ),
    Program(
        "Josephus",
        "n people (1 <= n <= 1000) stand in a circle, numbered from 1. Counting from person 1, every k-th (1 <= k <= "
        "1000) leaves, and the counting goes on after that one. The input is n and k. Print the number of "
        "the last one.",
        "n, k = map(int, input().split())\nlast = 0\nfor size in range(2, n + 1):\n    last = (last + k) % size\n"
        "print(last + 1)",
        ("7 3", "1 5", "5 1", "1000 1000"),
        lambda rng: f"{whole(rng, 2, 200)} {whole(rng, 1, 50)}",
    ),
]
