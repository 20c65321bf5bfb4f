"""How to cite a benchmark: as a CFF file (https://citation-file-format.github.io) and as an entry for BibTeX."""

from __future__ import annotations

import json

from django.conf import settings

import gem
from apps.seasons.models import Season
from gem.benchmarks import Benchmark


def as_cff(benchmark: Benchmark, season: Season | None) -> str:
    """A CFF file. Its texts are JSON strings, which YAML reads as they are."""
    fields = {
        "cff-version": "1.2.0",
        "message": "Name the version and the season: a score without them means nothing.",
        "type": "dataset",
        "title": _title(benchmark, season),
        "version": str(benchmark.version),
        "url": _address(benchmark, season),
        "abstract": benchmark.summary,
    }
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    if season is not None:
        lines.append(f"date-released: {season.begins:%Y-%m-%d}")
    lines.append(f"authors:\n  - name: {json.dumps(f'gemweb {gem.__version__}')}")
    return "\n".join(lines) + "\n"


def as_bibtex(benchmark: Benchmark, season: Season | None) -> str:
    """An entry for BibTeX."""
    year = f"  year = {{{season.begins:%Y}}},\n" if season else ""
    return (
        f"@misc{{{key(benchmark, season)},\n"
        f"  title = {{{_title(benchmark, season)}}},\n"
        f"  author = {{{{gemweb}}}},\n"
        f"{year}"
        f"  note = {{gemweb {gem.__version__}}},\n"
        f"  howpublished = {{\\url{{{_address(benchmark, season)}}}}}\n"
        "}\n"
    )


def key(benchmark: Benchmark, season: Season | None) -> str:
    """The key of the entry for BibTeX."""
    return f"gemweb-{benchmark.name}-v{benchmark.version}{f'-season-{season.number}' if season else ''}"


def _title(benchmark: Benchmark, season: Season | None) -> str:
    return f"{benchmark.name}, version {benchmark.version}" + (f", season {season.number}" if season else "")


def _address(benchmark: Benchmark, season: Season | None) -> str:
    chosen = f"&season={season.number}" if season else ""
    return f"{settings.SITE_URL}/leaderboard/?benchmark={benchmark.name}{chosen}"
