"""Logs on stderr, one record per line: `level`, `ts`, `msg`, then keys; logfmt or JSON."""

from __future__ import annotations

import sys
from typing import TextIO

import structlog
from structlog.types import EventDict, FilteringBoundLogger, Processor, WrappedLogger

LEVELS = {"debug": 10, "info": 20, "warn": 30, "error": 40}


def configure(level: str, form: str, stream: TextIO | None = None) -> FilteringBoundLogger:
    """The process's logger; `level` is one of LEVELS, `form` is `logfmt` or `json`."""
    render: Processor = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.processors.LogfmtRenderer(key_order=["level", "ts", "msg"], bool_as_flag=False)
    )
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
        logger_factory=structlog.WriteLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=True,
    )
    logger: FilteringBoundLogger = structlog.get_logger()
    return logger


def _level(_: WrappedLogger, method: str, event: EventDict) -> EventDict:
    event["level"] = "warn" if method == "warning" else method
    return event
