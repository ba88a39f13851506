"""Conversion reviews, bytes to bytes: read, converted object by object, answered in their own version.

All or nothing: one object that cannot be converted fails the review, and the message names it, never what is in it.
Nothing is defaulted, validated or remembered, so every replica gives the same answer, and so does another process.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from kubeloop.unreadable import UNREADABLE

VERSIONS = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
KIND = "ConversionReview"
MOST_NAMED = 5
"""Objects that a message names; the ones after them are not looked at."""
LONGEST_MESSAGE = 2048
"""Bytes."""
LONGEST_WORD = 260
"""Characters of a name or version that somebody else chose."""
NO_REVIEW = f"the body is no {KIND}: it is not JSON of that shape"
OUR_MISTAKE = "this is a mistake of the operator; its log says more"

Tree: TypeAlias = dict[str, Any]


class ConversionRule(Struct, frozen=True):
    """How the versions of one kind become one another."""

    kind: str
    versions: tuple[str, ...]
    """With their group, as `apiVersion` says them."""
    convert: Callable[[Tree, str], Tree]
    """The tree of an object and the apiVersion wanted; it must not change what it is given."""
    refusal: type[Exception]
    """Raised for what cannot be converted, with a sentence that holds no field value."""


Rules: TypeAlias = tuple[ConversionRule, ...]


class Converted(Struct, frozen=True):
    """What to answer, and what came of it for logs and metrics."""

    status: int
    body: bytes = b""
    objects: int = 0
    """How many were asked for."""
    problem: str = ""
    """Why the review failed; empty for success."""
    mistakes: tuple[str, ...] = ()
    """Where rules went wrong by a mistake of ours."""


class _Request(Struct, frozen=True, rename={"desired": "desiredAPIVersion"}):
    uid: str = ""
    desired: str = ""
    objects: list[Raw] | None = None
    """Raw, so that only one object at a time is held as a tree."""


class _Review(Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


class _Failure(Struct, frozen=True):
    text: str
    mistake: str = ""


class _Refused(Exception):
    """The object is none that a rule could take; the text says why."""


def answer(body: bytes, rules: Rules) -> Converted:
    """The answer to a review, whatever it is."""
    review = _decoded(body)
    if review is None:
        return _invalid(NO_REVIEW)
    if review.kind != KIND or review.api_version not in VERSIONS:
        return _invalid(f"the body must be a {KIND} of {' or '.join(VERSIONS)}")
    request = review.request
    if request is None or not request.uid or not request.desired:
        uid = request.uid if request is not None else ""
        return _invalid(f"the {KIND} needs a request with a uid and a desiredAPIVersion", review.api_version, uid)
    return _answered(request, review.api_version, rules)


def _answered(request: _Request, version: str, rules: Rules) -> Converted:
    objects = request.objects or []
    if not any(request.desired in rule.versions for rule in rules):
        text = f"{_shown(request.desired)} is no version that objects are converted to; {_known(rules)}"
        return Converted(200, _failure(version, request.uid, "BadRequest", text), len(objects), text)
    made: list[Raw] = []
    failures: list[_Failure] = []
    for index, raw in enumerate(objects):
        match _from_raw(raw, request.desired, rules):
            case _Failure(text, mistake):
                failures.append(_Failure(f"object {index} {text}", mistake))
                if len(failures) == MOST_NAMED:
                    break
            case converted:
                made.append(converted)
    if failures:
        mistakes = tuple(each.mistake for each in failures if each.mistake)
        text = _bounded("; ".join(each.text for each in failures))
        answered = _failure(version, request.uid, "InternalError" if mistakes else "BadRequest", text)
        return Converted(200, answered, len(objects), text, mistakes)
    response = {"uid": request.uid, "result": {"status": "Success"}, "convertedObjects": made}
    return Converted(200, _encoded(version, response), len(objects))


def failure(body: bytes, text: str) -> Converted:
    """The answer to a review of which nothing was converted, for a reason that lies with us."""
    review = _decoded(body)
    if review is None:
        return _invalid(NO_REVIEW)
    request = review.request or _Request()
    answered = _failure(review.api_version, request.uid, "InternalError", text)
    return Converted(200, answered, len(request.objects or ()), text)


def _decoded(body: bytes) -> _Review | None:
    try:
        return msgspec.json.decode(body, type=_Review)
    except UNREADABLE:
        return None


def works(rules: Rules) -> str:
    """Empty when a tiny object of every version becomes every other one; else what went wrong."""
    for rule, source, desired in _pairs(rules):
        tree: Tree = {"apiVersion": source, "kind": rule.kind, "metadata": {"name": "self-test"}}
        match _converted(tree, desired, rules):
            case _Failure(text, mistake):
                return f"the conversion of a test object {text} {mistake}".rstrip()
    return ""


def _pairs(rules: Rules) -> Iterator[tuple[ConversionRule, str, str]]:
    for rule in rules:
        for source in rule.versions:
            for desired in rule.versions:
                if source != desired:
                    yield rule, source, desired


def _from_raw(raw: Raw, desired: str, rules: Rules) -> Raw | _Failure:
    try:
        tree = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Failure(f"to {_shown(desired)}: it is not JSON")
    except RecursionError:
        return _Failure(f"to {_shown(desired)}: it is nested too deeply")
    made = _converted(tree, desired, rules)
    if isinstance(made, _Failure):
        return made
    try:
        return raw if made is tree else Raw(msgspec.json.encode(made))
    except RecursionError:
        return _Failure(f"to {_shown(desired)}: it is nested too deeply")


def _converted(tree: object, desired: str, rules: Rules) -> Tree | _Failure:
    source = ""
    try:
        if not isinstance(tree, dict):
            raise _Refused("it is not an object")
        source = _text(tree, "apiVersion")
        if source == desired:
            return tree
        rule = _rule_for(tree, source, desired, rules)
        _check(tree)
    except _Refused as error:
        return _Failure(f"{_described(tree, source, desired)}: {error}")
    try:
        made = rule.convert(tree, desired)
        if made.get("apiVersion") != desired or made.get("kind") != tree["kind"]:
            raise TypeError("a rule answered with another version or kind")
    except rule.refusal as error:
        return _Failure(f"{_described(tree, source, desired)}: {_shown(str(error))}")
    except Exception as error:  # noqa: BLE001  (a mistake of ours must not fail the reviews of others)
        return _Failure(f"{_described(tree, source, desired)}: {OUR_MISTAKE}", _place(error))
    # The API server takes an answer without metadata for a broken one, and sends partial objects without it.
    return made if made.get("metadata") is not None else {**made, "metadata": {}}


def _rule_for(tree: Tree, source: str, desired: str, rules: Rules) -> ConversionRule:
    kind = _text(tree, "kind")
    for rule in rules:
        if rule.kind == kind and desired in rule.versions:
            if source not in rule.versions:
                raise _Refused(f"its version is none of {', '.join(rule.versions)}")
            return rule
    raise _Refused(f"objects of kind {_shown(kind)} are not converted to {desired}")


def _text(tree: Tree, key: str) -> str:
    value = tree.get(key)
    if not isinstance(value, str) or not value:
        raise _Refused(f"it has no {key}")
    return value


def _check(tree: Tree) -> None:
    for key in ("metadata", "spec", "status"):
        if not isinstance(tree.get(key), dict | None):
            raise _Refused(f"its {key} is not an object")


def _described(tree: object, source: str, desired: str) -> str:
    meta = tree.get("metadata") if isinstance(tree, dict) else None
    names = [meta.get(key) for key in ("namespace", "name")] if isinstance(meta, dict) else []
    name = "/".join(_shown(each) for each in names if isinstance(each, str) and each)
    return f"({name or 'without a name'}) from {_shown(source) or 'no version'} to {_shown(desired)}"


def _known(rules: Sequence[ConversionRule]) -> str:
    return "known are " + ", ".join(version for rule in rules for version in rule.versions)


def _shown(word: str) -> str:
    """A word of somebody else's, fit for a message: short and on one line."""
    printable = "".join(each if each.isprintable() else "?" for each in word[:LONGEST_WORD])
    return printable + "…" if len(word) > LONGEST_WORD else printable


def _bounded(text: str) -> str:
    data = text.encode(errors="replace")
    if len(data) <= LONGEST_MESSAGE:
        return data.decode()
    return data[: LONGEST_MESSAGE - len("…".encode())].decode(errors="ignore") + "…"


def _place(error: Exception) -> str:
    """What happened where; not the error's own text, which may hold field values."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {frame.filename}:{frame.lineno} in {frame.name}"


def _invalid(text: str, version: str = VERSIONS[0], uid: str = "") -> Converted:
    return Converted(422, _failure(version, uid, "Invalid", text), problem=text)


def _failure(version: str, uid: str, reason: str, text: str) -> bytes:
    result = {"status": "Failure", "reason": reason, "message": text}
    return _encoded(version, {"uid": uid, "result": result, "convertedObjects": []})


def _encoded(version: str, response: Tree) -> bytes:
    return msgspec.json.encode({"apiVersion": version, "kind": KIND, "response": response})
