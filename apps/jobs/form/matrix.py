"""Who plays what: the table of agents and environments in the form, and what its check boxes leave out.

A row is an environment or a pattern, a column an agent. The form sends its rows, its columns and the cells that are
ticked; a cell that is not there yet, because its agent or environment was just added, is ticked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.agents.models import Agent
from apps.jobs.form.picker import Token, ids_of, token_of
from gem.agents import has_expert

Pair = tuple[str, str]
"""An agent and an environment, or a pattern, that it leaves out."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Whether an agent plays the environments of a row."""

    value: str
    agent: str
    is_ticked: bool
    note: str
    is_possible: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    token: Token
    within: str
    """The pattern that was opened to show this environment by itself; empty if it was not."""
    cells: tuple[Cell, ...]


def left_out(
    rows: Iterable[str], columns: Sequence[str], ticked: Iterable[str], env_ids: Iterable[str], experts: set[str]
) -> list[Pair]:
    """What the check boxes leave out of these environments, and what the experts among the agents cannot play.

    Only what the table showed is left out: nobody is spared an environment without having seen it.
    """
    chosen, boxes = set(env_ids), set(ticked)
    pairs: list[Pair] = []
    for row in rows:
        ids = [env_id for env_id in ids_of([row]) if env_id in chosen]
        if not ids:
            continue
        for column in columns:
            if f"{column} {row}" not in boxes:
                pairs.append((column, row))
            elif column in experts:
                pairs += [(column, env_id) for env_id in ids if not has_expert(env_id)]
    return pairs


def table(
    tokens: Sequence[Token],
    agents: Sequence[Agent],
    pairs: Sequence[Pair],
    opened: Iterable[str],
    played: Mapping[str, Mapping[str, int]],
) -> list[Row]:
    """The table.

    Args:
        pairs: what is left out.
        opened: the patterns whose environments have rows of their own. So have those of which an agent leaves out a
            part that is not explained by what it cannot play.
        played: the episodes that each agent has played, by environment.
    """
    out = {agent.slug: set(ids_of(token for slug, token in pairs if slug == agent.slug)) for agent in agents}
    rows: list[Row] = []
    for token in tokens:
        ids = ids_of([token.value])
        is_open = not token.is_id and (
            token.value in set(opened) or any(_is_partly_out(a, ids, out[a.slug]) for a in agents)
        )
        if not token.is_id:
            rows.append(Row(token, "", () if is_open else _cells(token.value, ids, agents, out, played)))
        if token.is_id or is_open:
            within = "" if token.is_id else token.value
            rows += [Row(token_of(one), within, _cells(one, [one], agents, out, played)) for one in ids]
    return rows


def _is_partly_out(agent: Agent, ids: Sequence[str], out: set[str]) -> bool:
    playable = _playable(agent, ids)
    return bool(playable) and 0 < len(out.intersection(playable)) < len(playable)


def _playable(agent: Agent, ids: Sequence[str]) -> list[str]:
    return [env_id for env_id in ids if agent.kind != Agent.Kind.EXPERT or has_expert(env_id)]


def _cells(
    row: str,
    ids: Sequence[str],
    agents: Sequence[Agent],
    out: Mapping[str, set[str]],
    played: Mapping[str, Mapping[str, int]],
) -> tuple[Cell, ...]:
    cells = []
    for agent in agents:
        playable = _playable(agent, ids)
        is_ticked = bool(playable) and not out[agent.slug].issuperset(playable)
        note = _note(ids, playable, played.get(agent.slug, {}))
        cells.append(Cell(f"{agent.slug} {row}", agent.name, is_ticked, note, bool(playable)))
    return tuple(cells)


def _note(ids: Sequence[str], playable: Sequence[str], played: Mapping[str, int]) -> str:
    if not playable:
        return "no expert"
    known = sum(env_id in played for env_id in playable)
    if len(ids) == 1:
        return f"{played[ids[0]]:,} episodes known" if known else "never played"
    lacking = f", {len(ids) - len(playable)} without expert" if len(playable) < len(ids) else ""
    return f"{known} of {len(playable)} played{lacking}"
