"""An MCP server that tells the time, converts it and counts days, as the one that comes with GEM.

    python -m gem.tools.mcp_server.time_mcp                                     # over standard input and output
    python -m gem.tools.mcp_server.time_mcp --transport streamable-http --port 8081

Times without a zone are those of this machine. Needs the package `mcp`.
"""

from __future__ import annotations

import argparse
import calendar
import re
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DATE_FORMAT = "%Y-%m-%d"
TIME_FORMATS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f")
PLACEHOLDERS = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
UNITS = (("days", 86_400), ("hours", 3600), ("minutes", 60), ("seconds", 1))


def current_time(format: str = "YYYY-MM-DD HH:mm:ss", timezone: str | None = None) -> str:  # noqa: A002 (GEM's)
    """The current time, in a format of YYYY, MM, DD, HH, mm and ss, here or in an IANA time zone."""
    return datetime.now(_zone(timezone)).strftime(_strftime_format(format))


def relative_time(time: str) -> str:
    """How long ago a time (YYYY-MM-DD HH:mm:ss) was, or in how long it will be, in its largest whole unit."""
    seconds = (_parse_time(time) - datetime.now()).total_seconds()
    unit, size = next(((unit, size) for unit, size in UNITS if abs(seconds) >= size), UNITS[-1])
    count = int(abs(seconds) // size)
    return f"in {count} {unit}" if seconds > 0 else f"{count} {unit} ago"


def days_in_month(date: str | None = None) -> str:
    """How many days the month of a date (YYYY-MM-DD), or the present month, has."""
    day = _parse_date(date)
    return str(calendar.monthrange(day.year, day.month)[1])


def get_timestamp(time: str) -> str:
    """The milliseconds from 1970-01-01 00:00:00 UTC to a time (YYYY-MM-DD HH:mm:ss)."""
    return str(int(_parse_time(time).timestamp() * 1000))


def convert_time(sourceTimezone: str, targetTimezone: str, time: str) -> str:  # noqa: N803 (GEM's names)
    """A time (YYYY-MM-DD HH:mm:ss) of one IANA time zone as that of another, and the difference of the zones."""
    there = _parse_time(time).replace(tzinfo=_zone(sourceTimezone))
    here = there.astimezone(_zone(targetTimezone))
    offset = (here.utcoffset() or timedelta()) - (there.utcoffset() or timedelta())
    hours = offset.total_seconds() / 3600
    return f"{time} in {sourceTimezone} is {here.strftime(TIME_FORMATS[0])} in {targetTimezone} ({hours:+g} hours)"


def get_week_year(date: str | None = None) -> str:
    """The week of the year of a date (YYYY-MM-DD), or of today, counted from the first days and as in ISO 8601."""
    day = _parse_date(date)
    return f"week {(day.timetuple().tm_yday - 1) // 7 + 1}, ISO week {day.isocalendar().week}"


TOOLS = (current_time, relative_time, days_in_month, get_timestamp, convert_time, get_week_year)


def app() -> Any:
    """The server.

    Raises:
        ImportError: if the package `mcp` is not installed.
    """
    from mcp.server import MCPServer  # noqa: PLC0415 (not every engine uses it)

    server = MCPServer("mcp-time-server")
    for tool in TOOLS:
        server.add_tool(tool)
    return server


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the server until it is stopped."""
    parser = argparse.ArgumentParser(description="An MCP server that tells the time.")
    parser.add_argument("--transport", choices=["stdio", "http", "streamable-http"], default="stdio")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--path", default="/time-mcp")
    parser.add_argument("--log-level", choices=["DEBUG", "INFO", "WARNING", "ERROR"], default="INFO")
    options = parser.parse_args(arguments)
    if options.transport == "stdio":
        app().run("stdio")
    else:
        app().run("streamable-http", host=options.host, port=options.port, streamable_http_path=options.path)


def _zone(name: str | None) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"{name!r:.80} is no time zone; they have names such as Europe/Berlin.") from error


def _strftime_format(text: str) -> str:
    escaped = text.replace("%", "%%")
    return re.sub("|".join(PLACEHOLDERS), lambda match: PLACEHOLDERS[match.group()], escaped)


def _parse_time(text: str) -> datetime:
    for form in TIME_FORMATS:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    raise ValueError(f"{text!r:.80} is no time; write YYYY-MM-DD HH:mm:ss.")


def _parse_date(text: str | None) -> datetime:
    try:
        return datetime.strptime(text, DATE_FORMAT) if text else datetime.now()
    except ValueError as error:
        raise ValueError(f"{text!r:.80} is no date; write YYYY-MM-DD.") from error
