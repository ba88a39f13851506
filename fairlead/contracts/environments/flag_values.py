"""Kinds of values that a single flag of the environment contract takes."""

from __future__ import annotations

from string import Formatter
from urllib.parse import urlsplit

from fairlead.core.flag_kinds import Json, decoded, document, nothing, objects
from fairlead.core.flags import FlagKind

COLUMN = ("name", "type", "jsonPath", "description", "format", "priority")
COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
PLACES = ("scheme", "service", "namespace", "port", "generation")
A_COLUMN = "a column of a table"

_columns = objects(COLUMN, A_COLUMN)


def _read_columns(texts: tuple[str, ...]) -> tuple[Json, ...]:
    columns = _columns.read(texts)
    for column in columns:
        for key in ("name", "type", "jsonPath"):
            if not isinstance(column.get(key), str) or not column[key]:
                raise ValueError(f'holds a column without the text "{key}": {A_COLUMN} needs name, type and jsonPath')
        if column["type"] not in COLUMN_TYPES:
            raise ValueError(f'holds a column of type "{column["type"]}": use {", ".join(COLUMN_TYPES)}')
        if type(column.get("priority", 0)) is not int:
            raise ValueError("holds a column whose priority is no whole number: correct it")
    return columns


def _read_sizes(texts: tuple[str, ...]) -> str:
    """The text as it is: environmentd reads it, and another spelling would be another argument."""
    sizes = decoded(texts[0])
    if not isinstance(sizes, dict) or not all(isinstance(size, dict) for size in sizes.values()):
        raise ValueError("is no JSON object of sizes: write each as its name with an object of its fields")
    return texts[0]


def _read_template(texts: tuple[str, ...]) -> str:
    text = texts[0]
    try:
        used = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError:
        used = {text}
    if not text or not used <= set(PLACES):
        raise ValueError(f'is "{text}": write a URL that may hold {", ".join(f"{{{name}}}" for name in PLACES)}')
    return text


def _read_https(texts: tuple[str, ...]) -> str:
    """As the API server takes it: HTTPS with a host, and without a user, a query or a fragment."""
    try:
        parts = urlsplit(texts[0])
        right = bool(parts.hostname) and parts.port != 0 and parts.scheme == "https"
        right = right and not (parts.query or parts.fragment or "@" in parts.netloc)
    except ValueError:
        right = False
    if not right:
        raise ValueError("is no URL that an API server calls: write it as https://host:port/convert")
    return texts[0]


COLUMNS: FlagKind[tuple[Json, ...]] = FlagKind("JSON", _read_columns, nothing, document)
SIZES: FlagKind[str | None] = FlagKind("JSON", _read_sizes, nothing, document)
HTTPS: FlagKind[str] = FlagKind("URL", _read_https, str)
TEMPLATE: FlagKind[str] = FlagKind("URL", _read_template, str)
