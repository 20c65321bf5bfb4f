"""Problems about lists, grids and graphs."""

from __future__ import annotations

from gem.rng import SplitMix64, randint
from tools.samples.programs.problem import Program, listed, several, whole, word


def _interval(rng: SplitMix64) -> str:
    start = randint(rng, 0, 20)
    return f"{start} {start + randint(rng, 0, 6)}"


def _grid(rng: SplitMix64, most: int, low: int, high: int) -> str:
    height, width = randint(rng, 1, most), randint(rng, 1, most)
    return f"{height} {width}\n" + "\n".join(several(rng, width, low, high) for _ in range(height))


def _map(rng: SplitMix64) -> str:
    height, width = randint(rng, 2, 6), randint(rng, 2, 6)
    rows = ("".join("#" if randint(rng, 0, 2) else "." for _ in range(width)) for _ in range(height))
    return f"{height} {width}\n" + "\n".join(rows)


def _square(rng: SplitMix64) -> str:
    a, b, c = randint(rng, 3, 9), randint(rng, 1, 2), randint(rng, -1, 1)
    rows = [[a - b, a + b + c, a - c], [a + b - c, a, a - b + c], [a + c, a - b - c, a + b]]
    rows[0][0] += randint(rng, 0, 1)
    return "3\n" + "\n".join(" ".join(map(str, row)) for row in rows)


def _roads(rng: SplitMix64) -> str:
    count = randint(rng, 3, 9)
    roads = (f"{whole(rng, 1, 5)} {whole(rng, 1, 5)} {whole(rng, 1, 30)}" for _ in range(count))
    return f"5 {count}\n" + "\n".join(roads)


LISTS = [
    Program(
        "Second largest",
        "The first line holds a count n from 1 to 1000, the second n integers up to 10^9 in size. Print the second "
        "largest of the different values, or `none` if there is only one.",
        "input()\nvalues = sorted(set(map(int, input().split())))\nprint(values[-2] if len(values) > 1 else 'none')",
        ("4\n3 9 9 5", "1\n4", "3\n2 2 2", "2\n-1 -2"),
        lambda rng: listed(rng, 8, -20, 20),
    ),
    Program(
        "Best stretch",
        "The first line holds a count n from 1 to 100000, the second n integers up to 10^4 in size. Print the largest "
        "sum of a stretch of at least one of them that stand together.",
        "input()\nbest = now = -10 ** 9\nfor x in map(int, input().split()):\n"
        "    now = max(now, 0) + x if now > 0 else x\n"
        "    best = max(best, now)\nprint(best)",
        ("9\n-2 1 -3 4 -1 2 1 -5 4", "1\n-7", "3\n1 2 3", "3\n-3 -1 -2"),
        lambda rng: listed(rng, 15, -10, 10),
    ),
    Program(
        "Pairs with a sum",
        "The first line holds a count n from 2 to 100000 and a number s, the second n integers up to 10^9 in size. "
        "Print how many pairs of positions i < j there are whose values have the sum s.",
        "from collections import Counter\n_, s = map(int, input().split())\nseen, pairs = Counter(), 0\n"
        "for x in map(int, input().split()):\n    pairs += seen[s - x]\n    seen[x] += 1\nprint(pairs)",
        ("5 6\n1 5 3 3 3", "2 0\n0 0", "3 10\n1 2 3"),
        lambda rng: f"8 {whole(rng, 2, 12)}\n{several(rng, 8, 0, 7)}",
    ),
    Program(
        "Rotate",
        "The first line holds a count n from 1 to 1000 and a number k from 0 to 10^9, the second n integers. Print "
        "them after moving all by k places to the right, where what leaves at the end comes in at the front.",
        "n, k = map(int, input().split())\nvalues = input().split()\nk %= n\nprint(*values[n - k:], *values[:n - k])",
        ("5 2\n1 2 3 4 5", "1 7\n9", "4 4\n1 2 3 4", "3 0\n5 6 7"),
        lambda rng: f"6 {whole(rng, 0, 20)}\n{several(rng, 6, 0, 99)}",
    ),
    Program(
        "Merge the intervals",
        "The first line holds a count n from 1 to 1000, each of the next n lines two integers a <= b, the ends of an "
        "interval. Print the parts that they cover together, in increasing order, a line `a b` for each; intervals "
        "that touch are one part.",
        "parts = []\nfor a, b in sorted(tuple(map(int, input().split())) for _ in range(int(input()))):\n"
        "    if parts and a <= parts[-1][1]:\n        parts[-1][1] = max(parts[-1][1], b)\n    else:\n"
        "        parts.append([a, b])\nfor part in parts:\n    print(*part)",
        ("4\n1 3\n2 6\n8 10\n15 18", "1\n5 5", "2\n1 4\n4 5", "3\n1 9\n2 3\n4 5"),
        lambda rng: "4\n" + "\n".join(_interval(rng) for _ in range(4)),
    ),
    Program(
        "Median",
        "The first line holds a count n from 1 to 1000, the second n integers up to 10^6 in size. Print their median "
        "with one digit after the point; of an even count it is the mean of the two in the middle.",
        "import statistics\ninput()\nprint(float(statistics.median(map(int, input().split()))))",
        ("3\n5 1 4", "1\n0", "4\n1 2 3 10"),
        lambda rng: listed(rng, 9, -50, 50),
    ),
    Program(
        "Inversions",
        "The first line holds a count n from 1 to 1000, the second n integers. Print how many pairs of positions i < j "
        "have a greater value at i than at j.",
        "input()\nv = list(map(int, input().split()))\n"
        "print(sum(v[i] > v[j] for j in range(len(v)) for i in range(j)))",
        ("5\n2 4 1 3 5", "1\n1", "4\n4 3 2 1", "3\n2 2 2"),
        lambda rng: listed(rng, 12, 0, 20),
    ),
    Program(
        "Spiral",
        "The first line holds the height and the width of a grid, each from 1 to 50, the next lines its rows of "
        "integers. Print the numbers in a spiral: along the first row, down the last column, and so on inwards.",
        "h, _ = map(int, input().split())\ngrid = [input().split() for _ in range(h)]\nout = []\nwhile grid:\n"
        "    out += grid.pop(0)\n    grid = [list(column) for column in zip(*grid)][::-1]\nprint(*out)",
        ("3 3\n1 2 3\n4 5 6\n7 8 9", "1 1\n5", "1 4\n1 2 3 4", "3 1\n1\n2\n3"),
        lambda rng: _grid(rng, 5, 0, 9),
    ),
    Program(
        "Islands",
        "The first line holds the height and the width of a map, each from 1 to 50, the next lines its rows: `#` is "
        "land, `.` is water. Print how many islands there are; land that touches above, below, left or right belongs "
        "together.",
        "h, w = map(int, input().split())\nland = {(i, j) for i in range(h) for j, c in enumerate(input()) "
        "if c == '#'}\n"
        "count = 0\nwhile land:\n    count += 1\n    todo = [land.pop()]\n    while todo:\n        i, j = todo.pop()\n"
        "        for near in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):\n            if near in land:\n"
        "                land.remove(near)\n                todo.append(near)\nprint(count)",
        ("3 4\n##.#\n#..#\n..#.", "1 1\n.", "2 2\n#.\n.#"),
        _map,
    ),
    Program(
        "Shortest way",
        "The first line holds a number of places n (2 to 100) and of roads m, each of the next m lines a road: two "
        "places from 1 to n and a length from 1 to 1000, both ways. Print the length of the shortest way from place 1 "
        "to place n, or -1 if there is none.",
        "import heapq\nn, m = map(int, input().split())\nroads = {i: [] for i in range(1, n + 1)}\nfor _ in range(m):\n"
        "    a, b, d = map(int, input().split())\n    roads[a].append((d, b))\n    roads[b].append((d, a))\n"
        "heap, done = [(0, 1)], {}\nwhile heap:\n    d, a = heapq.heappop(heap)\n    if a in done:\n        continue\n"
        "    done[a] = d\n    for e, b in roads[a]:\n        heapq.heappush(heap, (d + e, b))\nprint(done.get(n, -1))",
        ("4 4\n1 2 5\n2 4 5\n1 3 1\n3 4 20", "2 0", "2 2\n1 2 9\n2 1 3"),
        _roads,
    ),
    Program(
        "Majority",
        "The first line holds a count n from 1 to 100000, the second n integers. Print the value that more "
        "than half of "
        "them have, or `none`.",
        "from collections import Counter\nn = int(input())\nvalue, count = Counter(input().split()).most_common(1)[0]\n"
        "print(value if 2 * count > n else 'none')",
        ("5\n2 2 1 2 3", "1\n8", "4\n1 1 2 2"),
        lambda rng: listed(rng, 9, 1, 3),
    ),
    Program(
        "Longest increasing sequence",
        "The first line holds a count n from 1 to 1000, the second n integers. Print how many of them can be kept at "
        "most, without changing their order, so that each is greater than the one before.",
        "from bisect import bisect_left\ninput()\nends = []\nfor x in map(int, input().split()):\n"
        "    ends[bisect_left(ends, x):bisect_left(ends, x) + 1] = [x]\nprint(len(ends))",
        ("8\n10 9 2 5 3 7 101 18", "1\n1", "4\n4 4 4 4"),
        lambda rng: listed(rng, 15, 0, 30),
    ),
    Program(
        "Magic square",
        "The first line holds n from 1 to 20, the next n lines n integers each. Print `magic` if all rows, all columns "
        "and both diagonals have the same sum, otherwise `no`.",
        "n = int(input())\ng = [list(map(int, input().split())) for _ in range(n)]\n"
        "sums = {sum(r) for r in g} | {sum(c) for c in zip(*g)}\n"
        "sums |= {sum(g[i][i] for i in range(n)), sum(g[i][~i] for i in range(n))}\n"
        "print('magic' if len(sums) == 1 else 'no')",
        ("3\n2 7 6\n9 5 1\n4 3 8", "1\n5", "2\n1 2\n2 1", "2\n3 3\n3 3"),
        _square,
    ),
    Program(
        "Rain",
        "The first line holds a count n from 1 to 1000, the second the heights of n walls of width 1 side by side, "
        "from 0 to 1000. Print how much water stays between them after rain.",
        "n = int(input())\nh = list(map(int, input().split()))\n"
        "print(sum(max(0, min(max(h[:i + 1]), max(h[i:])) - h[i]) for i in range(n)))",
        ("12\n0 1 0 2 1 0 1 3 2 1 2 1", "1\n4", "3\n3 0 3"),
        lambda rng: listed(rng, 14, 0, 6),
    ),
    Program(
        "Knapsack",
        "The first line holds a count n from 1 to 50 and a capacity from 0 to 1000, each of the next n lines a weight "
        "from 1 to 1000 and a worth from 0 to 1000. Print the greatest worth of things that weigh at most the capacity "
        "together; each is there once.",
        "n, c = map(int, input().split())\nbest = [0] * (c + 1)\nfor _ in range(n):\n"
        "    w, v = map(int, input().split())\n"
        "    for room in range(c, w - 1, -1):\n        best[room] = max(best[room], best[room - w] + v)\n"
        "print(best[c])",
        ("3 50\n10 60\n20 100\n30 120", "1 0\n1 5", "1 5\n5 7"),
        lambda rng: (
            f"5 {whole(rng, 5, 40)}\n" + "\n".join(f"{whole(rng, 1, 20)} {whole(rng, 1, 50)}" for _ in range(5))
        ),
    ),
    Program(
        "Course order",
        "The first line holds a number of courses n from 1 to 100 and of conditions m, each of the next m lines `a b`: "
        "course a comes before course b. Print the order of all courses (1 to n) in which always the smallest possible "
        "number comes next, or `impossible`.",
        "import heapq\nn, m = map(int, input().split())\nafter, left = {i: [] for i in range(1, n + 1)}, [0] "
        "* (n + 1)\n"
        "for _ in range(m):\n    a, b = map(int, input().split())\n    after[a].append(b)\n    left[b] += 1\n"
        "heap = [i for i in range(1, n + 1) if not left[i]]\norder = []\nwhile heap:\n    a = heapq.heappop(heap)\n"
        "    order.append(a)\n    for b in after[a]:\n        left[b] -= 1\n        if not left[b]:\n"
        "            heapq.heappush(heap, b)\nprint(*order if len(order) == n else ['impossible'])",
        ("4 3\n4 2\n2 1\n3 1", "1 0", "2 2\n1 2\n2 1"),
        lambda rng: "5 4\n" + "\n".join(f"{whole(rng, 1, 3)} {whole(rng, 3, 5)}" for _ in range(4)),
    ),
    Program(
        "Game of Life",
        "The first line holds the height and the width of a board, each from 1 to 50, the next lines its rows: `#` "
        "lives, `.` does not. A living cell goes on living with two or three living cells among its eight neighbours, "
        "a dead one comes alive with three. Nothing lives outside. Print the board after one step.",
        "h, w = map(int, input().split())\ng = [input() for _ in range(h)]\nfor i in range(h):\n    row = ''\n"
        "    for j in range(w):\n        near = sum(g[a][b] == '#' for a in range(max(0, i - 1), min(h, i + 2))\n"
        "                   for b in range(max(0, j - 1), min(w, j + 2))) - (g[i][j] == '#')\n"
        "        row += '#' if near == 3 or near == 2 and g[i][j] == '#' else '.'\n    print(row)",
        ("3 3\n...\n###\n...", "1 1\n#", "2 2\n##\n#."),
        _map,
    ),
    Program(
        "Ranks",
        "The first line holds a count n from 1 to 1000, each of the next n lines a name and a score from 0 to 1000. "
        "Print the names with the best score first, those with equal scores in the order of the alphabet, "
        "one in a line "
        "with its rank: equal scores share a rank, and the next rank counts them (1, 2, 2, 4).",
        "rows = [input().split() for _ in range(int(input()))]\nrows.sort(key=lambda r: (-int(r[1]), r[0]))\n"
        "for i, (name, score) in enumerate(rows):\n    if not i or score != rows[i - 1][1]:\n        rank = i + 1\n"
        "    print(rank, name)",
        ("4\nann 5\nbob 9\ncid 5\ndan 1", "1\nzoe 0", "2\nb 3\na 3"),
        lambda rng: "5\n" + "\n".join(f"{word(rng, 5)}{n} {whole(rng, 0, 4)}" for n in range(5)),
    ),
]
