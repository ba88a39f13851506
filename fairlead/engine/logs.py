"""Logs on stderr, one record per line: `level`, `ts`, `msg`, then keys; logfmt or JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TextIO, cast

from fairlead.engine.log_stream import LogStream, unhindered


@contextmanager
def _without(module: str) -> Iterator[None]:
    """Nothing that is imported meanwhile finds this module; what has it already keeps it."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]  # its import then fails, as documented
    try:
        yield
    finally:
        del sys.modules[module]


with _without("rich"):  # it would draw tracebacks for terminals: 66 modules and 4 MB that no log of ours uses
    import structlog
    from structlog.types import EventDict, FilteringBoundLogger, Processor, WrappedLogger

LEVELS = {"debug": 10, "info": 20, "warn": 30, "error": 40}


def configure(level: str, form: str, stream: TextIO | None = None) -> FilteringBoundLogger:
    """The process's logger; `level` is one of LEVELS, `form` is `logfmt` or `json`. No record waits for its reader."""
    written = unhindered(stream or sys.stderr)
    render: Processor = structlog.processors.JSONRenderer() if form == "json" else _logfmt
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("msg"),
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", written)),
        cache_logger_on_first_use=True,
    )
    logger: FilteringBoundLogger = structlog.get_logger()
    if isinstance(written, LogStream):
        written.dropped = partial(_tell_dropped, logger)
    return logger


def _tell_dropped(logger: FilteringBoundLogger, lines: int) -> None:
    logger.warning("log lines were dropped", lines=lines, help="who reads the log did not go on; see what holds it up")


_QUOTED = re.compile(r'[ ="\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
"""Whatever ends a line, moves a terminal's cursor or cannot be written; pods and users choose parts of what is said."""
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _logfmt(_: WrappedLogger, __: str, event: EventDict) -> str:
    first = [(key, event.pop(key, None)) for key in ("level", "ts", "msg")]
    return " ".join([f"{key}={_value(value)}" for key, value in (*first, *event.items())])


def _value(value: object) -> str:
    if value is None:
        return ""
    text = ("false", "true")[value] if isinstance(value, bool) else str(value)
    if _QUOTED.search(text) is None:
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"


def _level(_: WrappedLogger, method: str, event: EventDict) -> EventDict:
    event["level"] = "warn" if method == "warning" else method
    return event
