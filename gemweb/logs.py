"""What processes log: lines to read, or JSON for programs."""

from __future__ import annotations

import logging
from typing import Any

import structlog

_AS_JSON = [
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    structlog.processors.format_exc_info,
    structlog.processors.JSONRenderer(),
]
_AS_LINES = [
    structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0, exception_formatter=structlog.dev.plain_traceback)
]
_LOGGERS: dict[str, dict[str, Any]] = {
    "django.server": {"level": "WARNING"},
    "httpx2": {"level": "WARNING"},
    "mcp": {"level": "WARNING"},
    "gem.datasets": {"level": "ERROR"},  # pages show which environments use samples
    "uvicorn": {"handlers": [], "level": "WARNING", "propagate": True},  # it would format its own lines
    "uvicorn.error": {"handlers": [], "propagate": True},
}


class _TracebackFilter(logging.Filter):
    """Leaves out tracebacks that say nothing about our code and would hide the other lines.

    While the database is away, every query fails. And what Django calls suspicious, such as a wrong `Host`, strangers
    send by the thousand.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten such a record. Every record is logged."""
        from apps.faults import is_database_away  # noqa: PLC0415 (it needs the settings, which configure logging)

        error = record.exc_info[1] if record.exc_info else None
        if error is not None and is_database_away(error):
            record.msg, record.args = f"{record.getMessage()}: {' '.join(str(error).split())}", ()
            record.exc_info = record.exc_text = None
        elif record.name.startswith("django.security."):
            record.exc_info = record.exc_text = None
        return True


def configure(level: str, *, as_json: bool) -> dict[str, Any]:
    """Configure structlog, and return what Django configures logging with."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *(_AS_JSON if as_json else _AS_LINES),
        ],
        "foreign_pre_chain": [structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": formatter},
        "filters": {"tracebacks": {"()": _TracebackFilter}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["tracebacks"]},
        },
        "root": {"handlers": ["console"], "level": level},
        "loggers": _LOGGERS,
    }
