"""Glyphs on a terminal that has none: each becomes one character of ASCII, so that columns stay where they are."""

from __future__ import annotations

import codecs
import os
from collections.abc import Mapping
from typing import TextIO

PLAIN = {
    "●": "*",
    "◐": "~",
    "◌": "-",
    "○": "_",
    "✕": "x",
    "█": "#",
    "░": ".",
    "…": ">",
}
"""What stands for them; anything else is a question mark."""

_ERRORS = "fairlead-plain"
_CHOSEN = ("PYTHONIOENCODING", "PYTHONUTF8")
_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")


def fit(stream: TextIO, environment: Mapping[str, str] = os.environ) -> None:
    """From now on the stream takes every character; Python writes UTF-8 even where the locale says that it is none."""
    if not hasattr(stream, "reconfigure"):
        return
    codecs.register_error(_ERRORS, _plain)
    if stream.isatty() and _is_plain(environment):
        stream.reconfigure(encoding="ascii", errors=_ERRORS)
    else:
        stream.reconfigure(errors=_ERRORS)


def _is_plain(environment: Mapping[str, str]) -> bool:
    """Whether somebody has chosen a locale, and one without UTF-8."""
    if any(environment.get(name) for name in _CHOSEN):
        return False
    chosen = next((environment[name] for name in _LOCALE if environment.get(name)), "")
    return bool(chosen) and "utf-8" not in chosen.lower() and "utf8" not in chosen.lower()


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(each, "?") for each in error.object[error.start : error.end]), error.end
