"""Reports of checks in the form that CI systems read (section 6.1, B17)."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct


class Case(Struct, frozen=True):
    name: str
    problems: tuple[str, ...] = ()
    """One line or more for each; none: it has passed."""


def junit(suite: str, cases: Sequence[Case]) -> str:
    """One suite as XML, with a line break at its end."""
    failed = sum(bool(each.problems) for each in cases)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuites tests="{len(cases)}" failures="{failed}">')
    lines.append(f'  <testsuite name={_quoted(suite)} tests="{len(cases)}" failures="{failed}">')
    for case in cases:
        head = f"    <testcase classname={_quoted(suite)} name={_quoted(case.name)}"
        if not case.problems:
            lines.append(f"{head}/>")
            continue
        text = _clean("\n".join(case.problems))
        first = text.partition("\n")[0]
        lines.append(f"{head}>")
        lines.append(f"      <failure message={quoteattr(first)}>{escape(text)}</failure>")
        lines.append("    </testcase>")
    return "\n".join((*lines, "  </testsuite>", "</testsuites>", ""))


def _quoted(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    """XML has no way to write most control characters."""
    return "".join(each if each.isprintable() or each in "\n\t" else "�" for each in text)
