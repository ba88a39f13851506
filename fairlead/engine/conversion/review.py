"""Conversion reviews, bytes to bytes: read, converted object by object, answered in their own version.

All or nothing: one object that cannot be converted fails the review, and the message names it, never what is in it.
Nothing is defaulted, validated or remembered, so every replica gives the same answer, and so does another process.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct, structs

from fairlead.engine.conversion.tallies import Tally
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


class Made(Struct, frozen=True):
    """An object in its new version, with what there is to tell of it."""

    tree: Tree
    discarded: int = 0
    """Leaves that were carried with the object and count for nothing any more."""
    carried_bytes: int = 0
    is_beyond: bool = False
    """Whether it has fields that its version has not here: the definition may be another one by now."""


class ConversionRule(Struct, frozen=True):
    """How the versions of one kind become one another."""

    kind: str
    versions: tuple[str, ...]
    """With their group, as `apiVersion` says them."""
    convert: Callable[[Tree, str], Tree | Made]
    """The tree of an object and the apiVersion wanted; it must not change what it is given."""
    refusal: type[Exception]
    """Raised for what cannot be converted, with a sentence that holds no field value."""
    name: str = ""
    """For metrics: of the definition."""


Rules: TypeAlias = tuple[ConversionRule, ...]


class Manner(Struct, frozen=True):
    """How reviews are answered, which differs from contract to contract."""

    in_words: bool = False
    """Whether what is no review is answered with 400 and a sentence; else with 422 and a review that failed."""
    tallies: bool = False
    """Whether objects are counted, and how long each took."""


USUAL_MANNER = Manner()


class ConversionAnswer(Struct, frozen=True):
    """What to answer, and what came of it for logs and metrics."""

    status: int
    body: bytes = b""
    objects: int = 0
    """How many were asked for."""
    problem: str = ""
    """Why the review failed; empty for success."""
    mistakes: tuple[str, ...] = ()
    """Where rules went wrong by a mistake of ours."""
    is_review: bool = True
    """Whether the body is a review; else it is a sentence."""
    desired: str = ""
    """The version that was asked for."""
    unknown: str = ""
    """The group of a version that no rule is about; empty: all are known."""
    beyond: str = ""
    """The group of an object with fields that its version has not here; empty: there is none."""
    tallies: tuple[Tally, ...] = ()


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
    is_unknown: bool = False


class _Refused(Exception):
    """The object is none that a rule could take; the text says why."""


class _Unknown(_Refused):
    """It is of a version that the rules do not have."""


def answer(body: bytes, rules: Rules, manner: Manner = USUAL_MANNER) -> ConversionAnswer:
    """The answer to a review, whatever it is."""
    review = _decoded(body)
    if review is None:
        return _invalid(NO_REVIEW, manner)
    if review.kind != KIND or review.api_version not in VERSIONS:
        return _invalid(f"the body must be a {KIND} of {' or '.join(VERSIONS)}", manner)
    request = review.request
    if request is None or not request.uid or not request.desired:
        uid = request.uid if request is not None else ""
        text = f"the {KIND} needs a request with a uid and a desiredAPIVersion"
        return _invalid(text, manner, review.api_version, uid)
    return _answered(request, review.api_version, rules, manner)


def _answered(request: _Request, version: str, rules: Rules, manner: Manner) -> ConversionAnswer:
    objects = request.objects or []
    if not any(request.desired in rule.versions for rule in rules):
        text = f"{_shown(request.desired)} is no version that objects are converted to; {_known(rules)}"
        unknown = request.desired.rpartition("/")[0]
        answered = _failure(version, request.uid, "BadRequest", text)
        return ConversionAnswer(200, answered, len(objects), text, desired=request.desired, unknown=unknown)
    made: list[Raw] = []
    beyond = ""
    failures: list[_Failure] = []
    tallies = _Tallies(manner.tallies)
    for index, raw in enumerate(objects):
        match _from_raw(raw, request.desired, rules, tallies):
            case _Failure(text, mistake, is_unknown):
                failures.append(_Failure(f"object {index} {text}", mistake, is_unknown))
                if len(failures) == MOST_NAMED:
                    break
            case (converted, is_beyond):
                made.append(converted)
                beyond = request.desired.rpartition("/")[0] if is_beyond else beyond
    if failures:
        return _failed(request, version, failures, tallies)
    response = {"uid": request.uid, "result": {"status": "Success"}, "convertedObjects": made}
    answered = _encoded(version, response)
    return ConversionAnswer(200, answered, len(objects), desired=request.desired, beyond=beyond, tallies=tallies.found)


def _failed(request: _Request, version: str, failures: Sequence[_Failure], tallies: _Tallies) -> ConversionAnswer:
    mistakes = tuple(each.mistake for each in failures if each.mistake)
    text = _bounded("; ".join(each.text for each in failures))
    return ConversionAnswer(
        200,
        _failure(version, request.uid, "InternalError" if mistakes else "BadRequest", text),
        len(request.objects or ()),
        text,
        mistakes,
        desired=request.desired,
        unknown=request.desired.rpartition("/")[0] if any(each.is_unknown for each in failures) else "",
        tallies=tallies.found,
    )


class _Tallies:
    """By kind and version, if they are wanted."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._found: dict[tuple[str, str], Tally] = {}

    @property
    def found(self) -> tuple[Tally, ...]:
        return tuple(self._found.values())

    def begin(self) -> float:
        return time.perf_counter() if self._wanted else 0.0

    def end(self, begun: float, rule: ConversionRule, source: str, made: Made | None) -> None:
        """`made` is None for what could not be converted."""
        if not self._wanted:
            return
        key = rule.name, source
        tally = self._found.get(key)
        if tally is None:
            tally = self._found[key] = Tally(rule.name, source.rpartition("/")[2])
        if made is None:
            tally.bad += 1
            return
        tally.good += 1
        tally.seconds.add(time.perf_counter() - begun)
        tally.carried.add(made.carried_bytes)
        tally.discarded += made.discarded


def failure(body: bytes, text: str, manner: Manner = USUAL_MANNER) -> ConversionAnswer:
    """The answer to a review of which nothing was converted, for a reason that lies with us."""
    review = _decoded(body)
    if review is None:
        return _invalid(NO_REVIEW, manner)
    request = review.request or _Request()
    answered = _failure(review.api_version, request.uid, "InternalError", text)
    return ConversionAnswer(200, answered, len(request.objects or ()), text, desired=request.desired)


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
            case _Failure(text, mistake, _):
                return f"the conversion of a test object {text} {mistake}".rstrip()
    return ""


def _pairs(rules: Rules) -> Iterator[tuple[ConversionRule, str, str]]:
    for rule in rules:
        for source in rule.versions:
            for desired in rule.versions:
                if source != desired:
                    yield rule, source, desired


def _from_raw(raw: Raw, desired: str, rules: Rules, tallies: _Tallies) -> tuple[Raw, bool] | _Failure:
    """The object, and whether it has fields that its version has not here."""
    begun = tallies.begin()
    try:
        tree = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Failure(f"to {_shown(desired)}: it is not JSON")
    except RecursionError:
        return _Failure(f"to {_shown(desired)}: it is nested too deeply")
    made = _converted(tree, desired, rules)
    match made:
        case _Failure():
            if (rule := _named(tree, desired, rules)) is not None:
                tallies.end(begun, rule, str(tree["apiVersion"]), None)
            return made
        case (rule, converted):
            pass
    try:
        written = raw if converted.tree is tree else Raw(msgspec.json.encode(converted.tree))
    except RecursionError:
        return _Failure(f"to {_shown(desired)}: it is nested too deeply")
    if rule is not None:
        tallies.end(begun, rule, tree["apiVersion"], converted)
    return written, converted.is_beyond


def _named(tree: object, desired: str, rules: Rules) -> ConversionRule | None:
    """The rule that was about it, for metrics."""
    if not isinstance(tree, dict):
        return None
    source, kind = tree.get("apiVersion"), tree.get("kind")
    found = (rule for rule in rules if rule.kind == kind and desired in rule.versions and source in rule.versions)
    return next(found, None)


def _converted(tree: object, desired: str, rules: Rules) -> tuple[ConversionRule | None, Made] | _Failure:
    """With the rule that it is by; None where there was nothing to do."""
    source = ""
    try:
        if not isinstance(tree, dict):
            raise _Refused("it is not an object")
        source = _text(tree, "apiVersion")
        if source == desired:
            return None, Made(tree)
        rule = _rule_for(tree, source, desired, rules)
        _check(tree)
    except _Refused as error:
        return _Failure(f"{_described(tree, source, desired)}: {error}", is_unknown=isinstance(error, _Unknown))
    try:
        answered = rule.convert(tree, desired)
        made = answered if isinstance(answered, Made) else Made(answered)
        if made.tree.get("apiVersion") != desired or made.tree.get("kind") != tree["kind"]:
            raise TypeError("a rule answered with another version or kind")
    except rule.refusal as error:
        return _Failure(f"{_described(tree, source, desired)}: {_shown(str(error))}")
    except Exception as error:  # noqa: BLE001  (a mistake of ours must not fail the reviews of others)
        return _Failure(f"{_described(tree, source, desired)}: {OUR_MISTAKE}", _place(error))
    # The API server takes an answer without metadata for a broken one, and sends partial objects without it.
    if made.tree.get("metadata") is None:
        made = structs.replace(made, tree={**made.tree, "metadata": {}})
    return rule, made


def _rule_for(tree: Tree, source: str, desired: str, rules: Rules) -> ConversionRule:
    kind = _text(tree, "kind")
    for rule in rules:
        if rule.kind == kind and desired in rule.versions:
            if source not in rule.versions:
                raise _Unknown(f"its version is none of {', '.join(rule.versions)}")
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
    return "known are " + (", ".join(version for rule in rules for version in rule.versions) or "none")


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


def _invalid(text: str, manner: Manner, version: str = VERSIONS[0], uid: str = "") -> ConversionAnswer:
    if manner.in_words:
        return ConversionAnswer(400, f"{text}\n".encode(), problem=text, is_review=False)
    return ConversionAnswer(422, _failure(version, uid, "Invalid", text), problem=text)


def _failure(version: str, uid: str, reason: str, text: str) -> bytes:
    result = {"status": "Failure", "reason": reason, "message": text}
    return _encoded(version, {"uid": uid, "result": result, "convertedObjects": []})


def _encoded(version: str, response: Tree) -> bytes:
    return msgspec.json.encode({"apiVersion": version, "kind": KIND, "response": response})
