"""Keys that an object in JSON says twice: decoding keeps one value, and the server tells about the other.

Nearly no body has any, so bodies are first looked at without taking them apart.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from kubesim.store.versions import Tree
from kubesim.typed.faults import Again, Faults, Path, Repeating

_KEY = b'":'
_SPACED = (b" :", b"\t:", b"\n:", b"\r:")
_OPERATION = ("op", "path", "from", "value")


def says_twice(body: bytes, decoded: Any) -> bool:
    """Whether a body may say keys twice: it has more of them than what was decoded from it."""
    written = msgspec.json.encode(decoded)
    if written == body.rstrip():
        return False
    return body.count(_KEY) != written.count(_KEY) or any(each in body for each in _SPACED)


def repeating(body: bytes) -> Any:
    """The body decoded, with objects that remember what they say twice."""
    return json.loads(body, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> Tree:
    found: Tree = {}
    for key, value in pairs:
        found[key] = _merged(found[key], value) if key in found else value
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    said: list[tuple[str, Any]] = []
    for key, _ in pairs:
        said.append((Again(key), None) if key in seen else (key, found[key]))
        seen.add(key)
    return Repeating(found, said)


def _merged(before: Any, value: Any) -> Any:
    """What comes of two values of a key: the fields of both objects, else the second."""
    if not isinstance(before, dict) or not isinstance(value, dict):
        return value
    found = {**before, **value}
    said = [(key, None if type(key) is Again else found[key]) for key, _ in before.items()]
    return Repeating(found, said + [item for item in value.items() if item[0] not in before])


def repeated(body: bytes) -> list[str]:
    """The keys that a body says twice, anywhere, in the server's words."""
    if not says_twice(body, msgspec.json.decode(body)):
        return []
    faults = Faults()
    _look(repeating(body), None, faults)
    return faults.strict


def _look(value: Any, path: Path, faults: Faults) -> None:
    if isinstance(value, dict):
        for key, each in value.items():
            if type(key) is Again:
                faults.repeated(path, str.__str__(key))
            else:
                _look(each, (path, key), faults)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _look(each, (path, index), faults)


def operations_problems(body: bytes) -> list[str]:
    """What the steps of a JSON patch say twice, or say besides what a step has."""
    steps = msgspec.json.decode(body)
    if not says_twice(body, steps) and all(set(step or ()) <= {*_OPERATION} for step in steps or ()):
        return []
    faults = Faults()
    for index, step in enumerate(repeating(body)):
        path: Path = (None, index)
        for key, each in (step or {}).items():
            if type(key) is Again and str.__str__(key) in _OPERATION:
                faults.repeated(path, str.__str__(key))
            elif key not in _OPERATION:
                faults.unknown(path, str.__str__(key))
            else:
                _look(each, (path, key), faults)
    return [f"json patch {problem}" for problem in faults.strict]
