"""The recorded answers as files, one for each area, and how two recordings differ."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Tree = dict[str, Any]
Answers = list[Tree]

FOLDER = Path(__file__).parent / "recorded"
_WIDTH = 110


def path_of(area: str) -> Path:
    return FOLDER / f"{area}.json"


def load(area: str) -> tuple[str, dict[str, Answers]]:
    """The release that was recorded and the answers of each case; nothing where nothing was recorded."""
    path = path_of(area)
    if not path.exists():
        return "", {}
    document = json.loads(path.read_text(encoding="utf-8"))
    return document["release"], document["cases"]


def save(area: str, release: str, cases: Mapping[str, Answers]) -> None:
    path_of(area).write_text(printed({"release": release, "cases": dict(cases)}) + "\n", encoding="utf-8")


def printed(value: Any, indent: int = 0) -> str:
    """JSON with sorted keys, where what fits into a line is in one."""
    flat = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(flat) + indent <= _WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    pad, end = " " * (indent + 1), " " * indent
    if isinstance(value, list):
        inner = (f"{pad}{printed(each, indent + 1)}" for each in value)
        return "[\n" + ",\n".join(inner) + f"\n{end}]"
    fields = (f"{pad}{json.dumps(key)}: {printed(value[key], indent + 1)}" for key in sorted(value))
    return "{\n" + ",\n".join(fields) + f"\n{end}}}"


def differences(was: Answers, is_: Answers, names: tuple[str, str] = ("recorded", "embedded")) -> str:
    """Both as text, line by line, where they differ; empty when they are equal."""
    if was == is_:
        return ""
    before, after = (printed(each).splitlines() for each in (was, is_))
    return "\n".join(difflib.unified_diff(before, after, names[0], names[1], lineterm=""))


def changes(was: Mapping[str, Answers], is_: Mapping[str, Answers]) -> Iterator[str]:
    """What a new recording changes, for people."""
    for name in sorted(was.keys() | is_.keys()):
        if name not in is_:
            yield f"removed: {name}"
        elif name not in was:
            yield f"added: {name}"
        elif text := differences(was[name], is_[name], ("before", "after")):
            yield f"changed: {name}\n{text}"
