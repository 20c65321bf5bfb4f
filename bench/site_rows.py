"""How many CPU seconds idle workers need for the rows that a new site plays by itself.

    python -m bench.site_rows
    python -m bench.site_rows --all

A new site is started without anybody on it. Its workers play random, the expert and `nano-base` on every benchmark,
execute the episodes again, and rank the rows. CPU seconds are those of the worker and its children, from its start.
Target: the rows of the benchmarks of games are ranked after 300 CPU seconds. `--all` goes on until every row is there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from bench.jobs.workers import seconds_of, start_workers
from bench.stack import machine, print_table, stack

TARGET_SECONDS = 300.0
LOOK_SECONDS = 1.0
Row = tuple[str, str, str]


def main() -> None:
    """Print a line for each row, and exit with 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="go on after the games")
    parser.add_argument("--slots", type=int, default=1, help="processes that play (1)")
    chosen = parser.parse_args()
    with stack() as made:
        _add_agents()
        worker = start_workers(made, chosen.slots, SITE_ROWS="1")
        began, table = time.monotonic(), [("benchmark", "agent", "season", "CPU seconds", "seconds")]
        for found in _ranked(whole=chosen.all):
            spent = seconds_of(worker)
            table.append((*found, f"{spent:.0f}", f"{time.monotonic() - began:.0f}"))
    print_table(table)
    print(f"Target: the rows of games after {TARGET_SECONDS:.0f} CPU seconds. {machine()}")
    games = [float(spent) for benchmark, _, _, spent, _ in table[1:] if benchmark in _games()]
    sys.exit(0 if max(games) <= TARGET_SECONDS else 1)


def _add_agents() -> None:
    """The agents that every site has."""
    from apps.agents.models import Agent

    for kind in ("random", "expert"):
        Agent.objects.get_or_create(slug=kind, defaults={"name": kind, "kind": kind, "colour": 8})


def _games() -> list[str]:
    """The benchmarks that have only games, and are no union of others."""
    from gem import benchmarks

    loaded = [each for each in map(benchmarks.load, benchmarks.names()) if not each.members]
    return [each.name for each in loaded if all(env_id.startswith("game:") for env_id in each.env_ids)]


def _ranked(*, whole: bool) -> Iterator[Row]:
    """Yield benchmark, agent and season of every row as it is ranked, until those of games, or all, are there."""
    from apps.leaderboard.boards import site_rows
    from apps.leaderboard.models import Ranking, Score
    from apps.seasons.models import Season
    from gem import benchmarks

    wanted = benchmarks.names() if whole else _games()
    seen: set[int] = set()
    while True:
        ranked = {int(key) for ranks in Ranking.objects.values_list("ranks", flat=True) for key in ranks.get("", {})}
        for score in Score.objects.filter(pk__in=ranked - seen).select_related("agent", "job__batch__season"):
            seen.add(score.pk)
            season = score.job.batch.season
            yield score.benchmark, score.agent.slug, str(season.number) if season else ""
        seasons = {season.benchmark: season for season in Season.objects.under_way()}
        missing = [site_rows.progress(benchmarks.load(name), seasons.get(name)) for name in wanted]
        if not any(missing) and seen >= set(Score.objects.filter(env_id="").values_list("pk", flat=True)):
            return
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main()
