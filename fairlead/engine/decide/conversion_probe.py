"""Whether a conversion webhook answers, tried through the API server as a user would.

Where objects exist a list of one in each served version that is not stored has it called; else one is made up and its
creation only tried. Only what the API server says about the webhook is a failure: whatever else it refuses, such as a
made-up object that it finds invalid, tells nothing.

Deprecated versions are not asked for: the API server remembers until its restart that somebody did, by which people and
`unserve` go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum

import msgspec
from msgspec import Struct

from fairlead.core.act import Create, Does
from fairlead.core.ask import Answers, Ask, Bad, Good, Listing, Question
from fairlead.engine.decide.registration import Tree
from kubeloop.objects.meta import Resource

FAILED = "conversion webhook for"
UNREACHABLE, UNCONVERTED = "WebhookUnreachable", "ConversionFails"
_OBJECT = re.compile(r"object \d+ \(([^()]+)\) from \S+ to [^\s:]+: (.*?)(?=; object \d+ \(|$)", re.DOTALL)
"""As reviews name what they could not convert."""
NOTHING_ASKED = "no version but deprecated ones would have to be converted, so none was asked for"
TIMEOUT_SECONDS = 35.0
"""The API server waits 30 seconds for a conversion."""


class Probed(Enum):
    ANSWERS = "answers"
    FAILS = "fails"
    UNKNOWN = "unknown"


class ProbeResult(Struct, frozen=True):
    result: Probed
    text: str = ""
    """What the API server said where it fails, or where nothing is known."""


class Unconverted(Struct, frozen=True):
    """An object that a webhook was reached with, and did not convert."""

    name: str
    """With its namespace."""
    cause: str


def unconverted(text: str) -> tuple[Unconverted, ...]:
    """What the webhook said of objects, from the words of the API server; none where it was not reached."""
    said = text.partition(FAILED)[2].partition("failed: ")[2]
    return tuple(Unconverted(*found) for found in _OBJECT.findall(said)) if _OBJECT.match(said) else ()


def event_reason(text: str) -> str:
    """Of an Event about a probe that failed."""
    return UNCONVERTED if unconverted(text) else UNREACHABLE


def resource_of(definition: Tree, version: str) -> Resource:
    spec = definition["spec"]
    names = spec["names"]
    return Resource(
        spec["group"], version, names["plural"], names["kind"], namespaced=bool(spec["scope"] == "Namespaced")
    )


def probed_versions(definition: Tree) -> tuple[str, ...]:
    """Served ones that are not stored, so that reading them needs a conversion, and that nobody is to leave."""
    return tuple(
        str(each["name"])
        for each in definition["spec"]["versions"]
        if each.get("served") and not each.get("storage") and not each.get("deprecated")
    )


def listings(definition: Tree) -> tuple[Ask, ...]:
    return tuple(
        Ask(Listing(resource_of(definition, each), "", limit=1), timeout=TIMEOUT_SECONDS)
        for each in probed_versions(definition)
    )


def creations(definition: Tree, samples: Mapping[str, Tree], namespace: str) -> tuple[Create, ...]:
    """What is tried where there are no objects: one made-up body in each version, in this namespace."""
    return tuple(_creation(definition, each, samples[each], namespace) for each in probed_versions(definition))


def questions(definition: Tree, samples: Mapping[str, Tree], namespace: str, answers: Answers) -> tuple[Question, ...]:
    """Those of the probe as far as it has come."""
    lists = listings(definition)
    if any(each not in answers.known for each in lists) or not _is_empty(lists, answers):
        return lists
    return (*lists, *creations(definition, samples, namespace))


def result(asked: Iterable[Question], answers: Answers) -> ProbeResult:
    """What came of all of them."""
    found = [answers[each] for each in asked]
    if not found:
        return ProbeResult(Probed.UNKNOWN, NOTHING_ASKED)
    bad = [each for each in found if isinstance(each, Bad)]
    for each in bad:
        if FAILED in each.text:
            return ProbeResult(Probed.FAILS, each.text)
    return ProbeResult(Probed.UNKNOWN, bad[0].text or bad[0].kind) if bad else ProbeResult(Probed.ANSWERS)


def _is_empty(lists: Iterable[Ask], answers: Answers) -> bool:
    found = [answers[each] for each in lists]
    return all(isinstance(each, Good) and not msgspec.json.decode(each.value).get("items") for each in found)


def _creation(definition: Tree, version: str, body: Tree, namespace: str) -> Create:
    resource = resource_of(definition, version)
    name = "conversion-probe"
    head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
    where = namespace if resource.namespaced else ""
    tree = msgspec.json.encode({**body, **head})
    return Create(
        resource=resource, namespace=where, name=name, body=tree, does=Does.APPLY_OBJECT, dry_run=True, refusable=True
    )
