"""Problems that a function solves."""

from __future__ import annotations

from gem.rng import SplitMix64, randint
from tools.samples.programs.problem import Function, word


def _numbers(rng: SplitMix64, most: int = 8, high: int = 9) -> list[int]:
    return [randint(rng, 0, high) for _ in range(randint(rng, 1, most))]


FUNCTIONS = [
    Function(
        "flatten",
        "def flatten(nested: list) -> list\n\nTakes a list whose items are integers or again such lists, to any depth. "
        "Returns all integers in their order as one list.",
        "def flatten(nested):\n    out = []\n    for item in nested:\n"
        "        out += flatten(item) if isinstance(item, list) else [item]\n    return out",
        (([1, [2, [3, []]], 4],), ([],), ([[[[5]]]],)),
        lambda rng: ([_numbers(rng), [_numbers(rng), randint(rng, 0, 9)]],),
    ),
    Function(
        "group_anagrams",
        "def group_anagrams(words: list[str]) -> list[list[str]]\n\nReturns the words in groups of those with the same "
        "letters. The groups, and the words in them, stand in the order in which they first occur.",
        "def group_anagrams(words):\n    groups = {}\n    for w in words:\n"
        "        groups.setdefault(''.join(sorted(w)), []).append(w)\n    return list(groups.values())",
        ((["eat", "tea", "tan", "ate", "nat", "bat"],), ([],), (["a", "a"],)),
        lambda rng: ([word(rng, 3, "ab") for _ in range(6)],),
    ),
    Function(
        "chunks",
        "def chunks(items: list, size: int) -> list[list]\n\nReturns the items in lists of `size` (at least "
        "1) each; the "
        "last may be shorter.",
        "def chunks(items, size):\n    return [items[i:i + size] for i in range(0, len(items), size)]",
        (([1, 2, 3, 4, 5], 2), ([], 3), ([1], 5)),
        lambda rng: (_numbers(rng, 12), randint(rng, 1, 5)),
    ),
    Function(
        "two_sum",
        "def two_sum(numbers: list[int], target: int) -> list[int]\n\nReturns the positions i < j of two numbers whose "
        "sum is `target`: those with the smallest j, and of these the one with the greatest i. Returns [] if there are "
        "none.",
        "def two_sum(numbers, target):\n    seen = {}\n    for j, x in enumerate(numbers):\n"
        "        if target - x in seen:\n            return [seen[target - x], j]\n        seen[x] = j\n    return []",
        (([2, 7, 11, 15], 9), ([3, 3], 6), ([1, 2], 8)),
        lambda rng: (_numbers(rng, 10), randint(rng, 2, 14)),
    ),
    Function(
        "matrix_product",
        "def matrix_product(a: list[list[int]], b: list[list[int]]) -> list[list[int]]\n\nReturns the product of two "
        "matrices, given as lists of rows; `a` has as many columns as `b` has rows.",
        "def matrix_product(a, b):\n    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] "
        "for row in a]",
        (([[1, 2], [3, 4]], [[5, 6], [7, 8]]), ([[2]], [[3]]), ([[1, 2, 3]], [[1], [2], [3]])),
        lambda rng: ([[randint(rng, -5, 5) for _ in range(3)] for _ in range(2)],
                     [[randint(rng, -5, 5) for _ in range(2)] for _ in range(3)]),
    ),
    Function(
        "mean_of_positives",
        "def mean_of_positives(numbers: list[float]) -> float\n\nReturns the mean of the numbers greater "
        "than 0, or 0.0 "
        "if there are none.",
        "def mean_of_positives(numbers):\n    kept = [x for x in numbers if x > 0]\n"
        "    return sum(kept) / len(kept) if kept else 0.0",
        (([1.5, -2.0, 2.5],), ([],), ([-1.0],), ([0.1, 0.2],)),
        lambda rng: ([randint(rng, -50, 50) / 10 for _ in range(6)],),
    ),
    Function(
        "intersection",
        "def intersection(first: list[int], second: list[int]) -> list[int]\n\nReturns the numbers that are in both "
        "lists, each as often as in the list that has it less often, in increasing order.",
        "from collections import Counter\n\ndef intersection(first, second):\n"
        "    return sorted((Counter(first) & Counter(second)).elements())",
        (([1, 2, 2, 1], [2, 2]), ([], [1]), ([4, 9, 5], [9, 4, 9, 8, 4])),
        lambda rng: (_numbers(rng, 8, 5), _numbers(rng, 8, 5)),
    ),
    Function(
        "power_set",
        "def power_set(items: list[int]) -> list[list[int]]\n\nReturns all lists that can be made by leaving "
        "out some of "
        "the different items, keeping their order: shorter ones first, and of equal length those whose first "
        "difference comes earlier in `items`.",
        "from itertools import combinations\n\ndef power_set(items):\n"
        "    return [list(c) for k in range(len(items) + 1) for c in combinations(items, k)]",
        (([1, 2, 3],), ([],), ([7],)),
        lambda rng: (list(range(randint(rng, 1, 3), randint(rng, 4, 7))),),
    ),
]  # fmt: skip
