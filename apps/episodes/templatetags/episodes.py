"""Template tags and filters for actions, keys and outcomes of episodes: `{% load episodes %}`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from django import template
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from apps.accounts import visitors
from apps.episodes.contests import contest_result
from apps.episodes.cubes import draw_cube
from apps.episodes.models import ORDINALS, Episode, Seat, Turn
from apps.episodes.ranked.comparable import day_of, ranked_in
from apps.episodes.snapshot import Snapshot, is_contest
from apps.episodes.tools.calls import ToolCall, tool_calls
from apps.episodes.tools.passages import passages
from apps.episodes.visibility import branches_of, choices_of, parent_of
from apps.pictures import agent_mark, cut, icon
from gem.grading.parsing import extract_last_boxed_answer
from gem.views import Cell, CodeTest, View

register = template.Library()
register.filter(ranked_in)
register.filter(day_of)
register.filter(draw_cube)

_TAGGED = re.compile(r"<bash>(.*?)</bash>|<(finish)>", re.DOTALL)
_KEYS = {"ArrowUp": "↑", "ArrowDown": "↓", "ArrowLeft": "←", "ArrowRight": "→", " ": "space"}

STATES = {
    Episode.Outcome.WON: ("win", "check", "Solved"),
    Episode.Outcome.LOST: ("loss", "cross", "Not solved"),
    Episode.Outcome.LIMIT: ("warn", "limit", "Turn limit"),
    Episode.Outcome.ERROR: ("muted", "warn", "Environment error, not counted"),
    Episode.Outcome.ABANDONED: ("muted", "stop", "Abandoned"),
    Episode.Outcome.RUNNING: ("live", "play", "Running"),
}
"""Outcome to tone, icon and label."""
CONTEST_STATES = {
    "won": ("win", "check", "Won"),
    "lost": ("loss", "cross", "Lost"),
    "drawn": ("muted", "stop", "Drawn"),
}
"""The result of a contest against a built-in opponent to tone, icon and label."""


@register.filter
def bare(action: str) -> str:
    r"""The action without its box, `reveal 7 2` for `\boxed{reveal 7 2}`. Other text is returned on one line."""
    boxed = extract_last_boxed_answer(action)
    contents = ["".join(groups) for groups in _TAGGED.findall(action)] if boxed is None else [boxed]
    return " ".join((contents[-1] if contents else action).split())


@register.filter
def begins(hint: str | None, part: str) -> bool:
    """Whether `part` is the first pick of a hint: `3 1` in the action `3 1 4`."""
    return bare(hint or "").startswith(f"{part} ")


@register.filter
def ends(hint: str | None, part: str) -> bool:
    """Whether `part` is the last pick of a hint: `7 4` in the action `7 1 7 4`."""
    return bare(hint or "").endswith(f" {part}")


@register.filter(name="tool_calls")
def calls_of(turn: Turn | None) -> list[ToolCall]:
    """The tool calls of a turn; empty for the reset and for a turn that must stay hidden."""
    return tool_calls(turn.info) if turn and not turn.concealed else []


@register.filter
def gist(turn: Turn) -> str:
    """What came of a turn, for people: what a search found, the output of other tools, or else the observation."""
    outputs = [", ".join(found.title for found in passages(call.output)) or call.output for call in calls_of(turn)]
    return " ".join(filter(None, outputs)) or turn.observation


@register.filter
def seat_ordinal(number: int) -> str:
    """The name of a seat on pages: `first` for 0."""
    return ORDINALS[number]


@register.filter
def unsaid(action: str, view: View) -> str:
    """The text that a person typed, without what the view's `say` added to it."""
    say = view.get("say")
    return action.removeprefix(say[0]).removesuffix(say[1]) if isinstance(say, tuple | list) else action


@register.filter
def usage(turn: Turn) -> str:
    """The tokens and time of an endpoint agent's turn: `412 in, 96 out, 1.9 s`."""
    extra = turn.extra or {}
    parts = [f"{extra.get(name, 0):,} {word}" for name, word in (("tokens_in", "in"), ("tokens_out", "out"))]
    if not (extra.get("tokens_in") or extra.get("tokens_out")):
        parts = []  # the server does not count tokens
    parts.append(f"{extra.get('seconds', 0.0):,.1f} s")
    if extra.get("requests", 1) > 1:
        parts.append(f"{extra['requests']} requests")
    return ", ".join(parts)


@register.filter
def title_and_price(note: str) -> tuple[str, str]:
    """A product's title, and its price behind the last dot: `Hiking Boot · $79.50`."""
    title, dot, price = note.rpartition(" · ")
    return (title, price) if dot else (note, "")


@register.filter
def keycap(key: str) -> str:
    """The label of a key: `↑` for `ArrowUp`."""
    return _KEYS.get(key, key.upper() if len(key) == 1 else key)


@register.filter
def by_touch(gesture: str) -> str:
    """What an entry of a board's legend is called where there is no mouse and no keyboard; empty if it needs one."""
    if gesture in _TOUCHES:
        return _TOUCHES[gesture]
    return gesture.replace("click", "tap", 1) if gesture.startswith("click ") else ""


_TOUCHES = {
    "click": "tap",
    "right click": "long press",
    "black peg": "black peg",
    "white peg": "white peg",
    "numbers": "numbers",
}
"""Gestures of the mouse, and entries that are no gestures. All others are keys."""


@register.filter
def first_failed(tests: Sequence[CodeTest]) -> int:
    """The index of the first failed test of a program; -1 if none failed."""
    return next((place for place, test in enumerate(tests) if test["status"] == "failed"), -1)


@register.filter
def board_template(view: View) -> str:
    """The template that draws a view of this kind."""
    return f"boards/{view['kind']}.html"


@register.inclusion_tag("components/visibility.html", takes_context=True)
def episode_visibility(context: Mapping[str, Any], episode: Episode) -> dict[str, Any]:
    """Who may see an episode; the people who may change it get a menu."""
    request: HttpRequest = context["request"]
    return {
        "current": episode.governing_visibility,
        "choices": choices_of(episode, request.user, visitors.known(request)),
        "action": reverse("episodes:visibility", args=[episode.pk]),
    }


@register.simple_tag(takes_context=True)
def shown_parent(context: Mapping[str, Any], episode: Episode) -> Episode | None:
    """The episode that this one was forked from, if the reader may see it."""
    request: HttpRequest = context["request"]
    return parent_of(episode, request.user, visitors.known(request))


@register.simple_tag(takes_context=True)
def fork_count(context: Mapping[str, Any], episode: Episode) -> int:
    """How many branches of an episode lists show to the reader."""
    request: HttpRequest = context["request"]
    return branches_of(episode, request.user, visitors.known(request)).count()


@register.simple_tag
def players(seats: Iterable[Seat]) -> SafeString:
    """Who plays, on one line: the agent, or the agents in all seats: `{% players episode.seats.all %}`."""
    return format_html_join(
        SafeString(' <span class="muted">and</span> '), "{}", ((seat_mark(seat),) for seat in seats)
    )


@register.simple_tag
def seat_mark(seat: Seat) -> SafeString:
    """The stone and the name of who acts from a seat: `{% seat_mark seat %}`."""
    if seat.who == seat.agent.name:
        return agent_mark(seat.agent)
    return format_html('<span class="agent">{}<span>{}</span></span>', cut(seat.agent), seat.who)


@register.simple_tag
def state(tone: str, glyph: str, words: str) -> SafeString:
    """A state with its icon: `{% state "warn" "pause" "paused" %}`."""
    return format_html('<span class="state" data-tone="{}">{}{}</span>', tone, icon(glyph), words)


@register.simple_tag
def outcome(episode: Episode) -> SafeString:
    """The outcome of an episode with icon and label: `{% outcome episode %}`."""
    return state(*outcome_parts(episode))


@register.filter
def outcome_parts(episode: Episode) -> tuple[str, str, str]:
    """The outcome of an episode: tone, icon and label."""
    tone, glyph, words = STATES[Episode.Outcome(episode.outcome)]
    if contest := contest_result(episode):
        tone, glyph, words = CONTEST_STATES[contest]
    if episode.cut:
        words = _limit_in_words(episode)
    if episode.failed_by == Episode.FailedBy.AGENT:
        words = "No answer from the agent, not counted"
    if episode.seat_count > 1 and episode.status == Episode.Status.ENDED:
        tone, glyph, words = _result(episode)
    return tone, glyph, words


def _limit_in_words(episode: Episode) -> str:
    return "Money limit" if episode.cut == "money" else "Token limit"


def _result(episode: Episode) -> tuple[str, str, str]:
    """The outcome of an episode with several seats: tone, icon and label."""
    seats = sorted(episode.seats.all(), key=lambda seat: seat.number)
    winners = [seat for seat in seats if seat.success]
    verb = "won" if is_contest(seats) else "succeeded"
    if len(winners) == len(seats):
        return "win", "check", "All succeeded"
    if winners:
        names = [seat.agent.name for seat in seats]
        is_ambiguous = any(names.count(seat.agent.name) > 1 for seat in winners)
        winner_names = [f"the {seat.ordinal} seat" if is_ambiguous else seat.agent.name for seat in winners]
        sentence = f"{' and '.join(winner_names)} {verb}"
        return "win", "check", sentence[0].upper() + sentence[1:] if is_ambiguous else sentence
    if episode.cut:
        return "warn", "limit", _limit_in_words(episode)
    return ("warn", "limit", "Turn limit") if episode.truncated else ("muted", "stop", f"Nobody {verb}")


@register.filter
def result(episode: Episode) -> str:
    """The outcome of an episode with several seats, in words."""
    return _result(episode)[2]


@register.filter
def own_result(shot: Snapshot) -> str:
    """The outcome for the person in the viewing seat, in words."""
    succeeded = [bool(seat.success) for seat in shot.seats]
    if all(succeeded) or not any(succeeded):
        return result(shot.episode)
    if is_contest(shot.seats):
        return "You won" if succeeded[shot.viewpoint] else "You lost"
    return "You succeeded" if succeeded[shot.viewpoint] else f"You did not succeed. {result(shot.episode)}"


register.filter(contest_result)


@register.filter
def tab_stop(rows: Sequence[Sequence[Cell]]) -> tuple[int, int]:
    """Row and column of the cell that the Tab key reaches: the player's, if one walks there, or the first."""
    players = (
        (row_number, number)
        for row_number, row in enumerate(rows)
        for number, cell in enumerate(row)
        if cell.get("piece") == "player"
    )
    return next(players, (0, 0))


@register.simple_tag
def cells(
    row: Sequence[Cell],
    row_number: int,
    acting: bool = False,
    hint: str = "",
    picks: Sequence[str] = (),
    stop: tuple[int, int] = (0, 0),
) -> SafeString:
    """The cells of one row of a board. A template would take ten times as long, and every turn draws a board.

    With `acting`, each cell is a named grid cell. A cell with an action is a submit button of the form "say"; a cell
    with a part of an action can be picked, as the `picks` of the view's `compose` require. `stop` is the row and column
    of the cell in the tab order.
    """
    to_places = len(picks) > 1 and picks[1] == "place"
    html_cells = [
        _cell(cell, acting, hint, to_places, in_tab_order=(row_number, number) == stop)
        for number, cell in enumerate(row)
    ]
    return mark_safe("".join(html_cells))  # noqa: S308 (every value went through escape)


def _cell(cell: Cell, acting: bool, hint: str, to_places: bool, *, in_tab_order: bool) -> str:
    attributes = [f' data-tone="{escape(cell["tone"])}"']
    if "n" in cell:
        attributes.append(f' data-n="{int(cell["n"])}"')
    if "power" in cell:
        attributes.append(f' data-pow="{int(cell["power"])}"')
    shape = cell.get("piece", "")
    flags = {"last": cell.get("last"), "target": cell.get("target"), "box": shape == "box", "player": shape == "player"}
    attributes += [f" data-{name}" for name, is_set in flags.items() if is_set]
    content = _pieces(cell) if shape else escape(cell.get("text", ""))
    if cell.get("corner") and not shape:
        content = f"<sup>{escape(str(cell['corner']))}</sup>{content}"
    if not acting:
        return f'<span class="cell"{"".join(attributes)}>{content}</span>'
    name = cell["label"] + (", last turn" if cell.get("last") else "")
    attributes.append(f' role="gridcell" aria-label="{escape(name)}" tabindex="{0 if in_tab_order else -1}"')
    if "act" not in cell and "part" not in cell:
        return f'<span class="cell"{"".join(attributes)}>{content}</span>'
    if "act" not in cell:
        attributes.append(f' type="button" data-part="{escape(cell["part"])}" data-pick="place" aria-selected="false"')
        if begins(hint, cell["part"]) or (to_places and ends(hint, cell["part"])):
            attributes.append(" data-hint")
        return f'<button class="cell"{"".join(attributes)}>{content}</button>'
    attributes.append(f' type="submit" form="say" name="act" value="{escape(cell["act"])}"')
    if "alt" in cell:
        attributes.append(f' data-alt="{escape(cell["alt"])}"')
    if hint and hint in (cell["act"], cell.get("alt")):
        attributes.append(" data-hint")
    return f'<button class="cell"{"".join(attributes)}>{content}</button>'


def _pieces(cell: Cell) -> str:
    """The piece of a cell; a player on a target stands over it."""
    under = _piece("target") if cell["piece"] == "player" and cell.get("target") else ""
    return under + _piece(cell["piece"])


@functools.cache
def _piece(shape: str) -> str:
    return f'<svg aria-hidden="true"><use href="{escape(static("icons.svg"))}#p-{escape(shape)}"/></svg>'
