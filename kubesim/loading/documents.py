"""What files of lists hold: objects one by one, each with the kind and version that it, or its list, says.

Files are JSON, one document or several, or YAML. Lists are those of kubectl (`List`, of many kinds) and of the API
(`PodList`, whose items do not say their kind). The answer of a server that refused a list says which kind that was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from kubesim.bodies import yaml_text
from kubesim.copies import Unusable

SUFFIXES = (".json", ".yaml", ".yml")
_BETWEEN = re.compile(rb"^---\s*$", re.MULTILINE)
"""Documents of YAML; within one nothing stands so far left."""


class Item(Struct, frozen=True):
    """An object, undecoded."""

    api_version: str
    kind: str
    body: bytes | Raw
    origin: Path


class Refusal(Struct, frozen=True):
    """A kind that a server did not list."""

    group: str
    plural: str
    reason: str


class _Details(Struct, frozen=True):
    kind: str = ""
    group: str = ""


class _ListMeta(Struct, frozen=True, rename="camel"):
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _Document(Struct, frozen=True):
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")
    items: list[Raw] | UnsetType | None = UNSET
    metadata: Raw = Raw(b"{}")
    reason: str = ""
    details: _Details | None = None


class _Typed(Struct, frozen=True):
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")


def found_in(paths: Iterable[Path]) -> Iterator[Item | Refusal]:
    """What the files hold, and those of folders; raises Unusable."""
    for path in paths:
        try:
            files = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES) if path.is_dir() else [path]
            if not files:
                raise Unusable(
                    f"{path} keeps no cluster: name a folder that --save has written to, or put there what kubectl get "
                    "-o json prints, as NAME.json"
                )
            for file in files:
                for document in _documents(file, file.read_bytes()):
                    yield from _items(file, document)
        except FileNotFoundError:
            raise Unusable(f"there is no {path}: name a file or a folder of lists, or leave out --load") from None
        except OSError as error:
            raise Unusable(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error


def _documents(path: Path, text: bytes) -> list[bytes]:
    """Each as JSON."""
    if not text.lstrip().startswith((b"{", b"[")):
        return _of_yaml(path, text)
    try:
        msgspec.json.decode(text, type=Raw)
    except msgspec.DecodeError as error:
        if "trailing characters" in str(error):
            return _of_several(path, text)
        raise _cut(path, error) from error
    return [text]


def _of_several(path: Path, text: bytes) -> list[bytes]:
    """One after the other, as when several lists were written to one file."""
    decoder, rest, found = json.JSONDecoder(), text.decode(errors="replace").lstrip(), []
    while rest:
        try:
            _, end = decoder.raw_decode(rest)
        except ValueError as error:
            raise _cut(path, error) from error
        found.append(rest[:end].encode())
        rest = rest[end:].lstrip()
    return found


def _cut(path: Path, error: Exception) -> Unusable:
    return Unusable(f"{path} is no JSON, or ends in the middle of it ({str(error).lower()}): list it again")


def _of_yaml(path: Path, text: bytes) -> list[bytes]:
    try:
        trees = [yaml_text.read(each)[0] for each in _BETWEEN.split(text)]
    except yaml_text.YamlError as error:
        raise Unusable(
            f"{path} is neither JSON nor YAML, or ends in the middle of it ({error}): list it again"
        ) from error
    return [msgspec.json.encode(tree) for tree in trees if tree is not None]


def _items(path: Path, text: bytes) -> Iterator[Item | Refusal]:
    try:
        if text.lstrip().startswith(b"["):
            for each in msgspec.json.decode(text, type=list[Raw]):
                yield from _items(path, bytes(each))
            return
        document = msgspec.json.decode(text, type=_Document)
    except msgspec.DecodeError as error:
        raise Unusable(f"{path} holds something that is no list of objects ({error}): list it again") from error
    if document.kind == "Status":
        yield _refusal(path, document)
    elif document.kind == "Table":
        raise Unusable(f"{path} holds a table: list it with kubectl get -o json")
    elif document.items is UNSET:
        yield _typed(path, document.kind, document.api_version, text)
    else:
        _is_whole(path, document)
        is_mixed = (document.kind, document.api_version) == ("List", "v1")
        kind = "" if is_mixed else document.kind.removesuffix("List")
        version = "" if is_mixed else document.api_version
        for each in document.items or ():
            told = _told(path, each) if is_mixed else _Typed(kind, version)
            if told.kind.endswith("List"):  # kubectl puts lists of one kind into a list of several
                yield from _items(path, bytes(each))
            else:
                yield _typed(path, told.kind, told.api_version, each)


def _told(path: Path, item: Raw) -> _Typed:
    try:
        return msgspec.json.decode(item, type=_Typed)
    except msgspec.DecodeError as error:
        raise Unusable(f"{path} holds something that is no object ({error}): list it again") from error


def _is_whole(path: Path, document: _Document) -> None:
    meta = msgspec.json.decode(document.metadata, type=_ListMeta)
    if meta.continue_ or meta.remaining_item_count:
        of = document.kind.removesuffix("List") or "objects"
        raise Unusable(f"{path}: the list of {of} was cut short, and says where it goes on: list it without a limit")


def _typed(path: Path, kind: str, api_version: str, body: bytes | Raw) -> Item:
    if not kind or not api_version:
        raise Unusable(f"{path} holds something without kind or apiVersion: list it with kubectl get -o json")
    return Item(api_version, kind, body, path)


def _refusal(path: Path, document: _Document) -> Refusal:
    if document.details is None or not document.details.kind:
        raise Unusable(f"{path} holds an answer of the server that names no kind: list it again")
    return Refusal(document.details.group, document.details.kind, document.reason or "refused")


def tree_of(item: Item) -> dict[str, Any]:
    """The object, with its kind and version."""
    tree: dict[str, Any] = msgspec.json.decode(item.body)
    return tree | {"kind": item.kind, "apiVersion": item.api_version}
