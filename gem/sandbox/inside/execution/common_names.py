"""Names that answers to programming problems use without importing them.

The templates of such problems often have the imports already, so a solution that leaves them out is not wrong. No name
here hides a builtin: `math.pow` is not among them.
"""

from __future__ import annotations

import bisect
import collections
import copy
import decimal
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import os
import random
import re
import statistics
import string
import sys
import time
import typing
from types import ModuleType
from typing import Any

MODULES: list[ModuleType] = [
    bisect, collections, copy, decimal, fractions, functools, heapq, itertools, json, math, operator, os, random, re,
    statistics, string, sys, time, typing,
]  # fmt: skip
MEMBERS: list[tuple[ModuleType, str]] = [
    (typing, "Any Callable Dict Iterable Iterator List Optional Set Tuple Union"),
    (collections, "Counter OrderedDict defaultdict deque namedtuple"),
    (functools, "cache cmp_to_key lru_cache partial reduce"),
    (itertools, "accumulate chain combinations count cycle groupby islice permutations product zip_longest"),
    (heapq, "heapify heappop heappush heappushpop heapreplace nlargest nsmallest"),
    (bisect, "bisect bisect_left bisect_right insort"),
    (math, "ceil comb factorial floor gcd inf isqrt log log2 pi sqrt"),
    (copy, "deepcopy"),
    (decimal, "Decimal"),
    (fractions, "Fraction"),
    (string, "ascii_lowercase ascii_uppercase digits"),
]
COMMON: dict[str, Any] = {module.__name__: module for module in MODULES} | {
    name: getattr(module, name) for module, names in MEMBERS for name in names.split()
}
"""The modules and members by name."""
