"""Events as objects on the wire: what the server takes, whatever they are made from.

The server refuses an Event whose texts are too long in bytes, or whose name is no name; such an Event is never seen.
So texts are cut between characters, characters that move a terminal's cursor become spaces, and names are made to fit.
"""

from __future__ import annotations

import re
from datetime import datetime
from hashlib import blake2b

import msgspec
from msgspec import Struct

from kubeloop import request
from kubeloop.election import micro_time
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request

CORE_EVENTS = Resource("", "v1", "events", "Event")
LONGEST_NOTE, LONGEST_WORD = 1024, 128
"""Bytes, as the server counts; a word is a reason, an action or an instance."""
LONGEST_NAME = 253
_CUT = "…"
_CONTROLS = {code: " " for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_NOT_IN_NAMES = re.compile("[^a-z0-9.-]+")


class EventForm(Struct, frozen=True):
    """What an Event says beside its reason and its text, and whether it may be joined with others."""

    component: str = ""
    """Who tells it; empty: who the Recorder was made for."""
    action: str = ""
    """What was done, or failed; empty: the reason says it."""
    related: Ref | None = None
    """Another object that it is about."""
    joined: bool = True
    """Whether different texts for the same reason about the same object become one Event when they come close together;
    else each has its own, and only the same again is counted."""


USUAL_FORM = EventForm()


class EventKey(Struct, frozen=True):
    """What makes two notes the same."""

    about: Ref
    warning: bool
    reason: str
    note: str
    form: EventForm = USUAL_FORM


class Repetition(Struct, frozen=True):
    first: datetime
    last: datetime
    count: int


class Reporter(Struct, frozen=True):
    """Who tells an Event whose form does not say it, and which process."""

    component: str
    instance: str


def namespace_of(about: Ref) -> str:
    """Where Events about an object are."""
    return about.namespace or "default"


def shortened(text: str, longest: int = LONGEST_NOTE) -> str:
    """At most so many bytes, which is what the server counts, and nothing that a terminal would obey."""
    data = text.translate(_CONTROLS).encode(errors="replace")
    if len(data) <= longest:
        return data.decode()
    return data[: longest - len(_CUT.encode())].decode(errors="ignore") + _CUT


def word(text: str) -> str:
    """As a reason, an action or an instance can be."""
    return text.encode(errors="replace")[:LONGEST_WORD].decode(errors="ignore")


def event_name(about: Ref, stamp: str) -> str:
    """Names of some kinds, such as roles, have characters that those of Events have not."""
    name = _NOT_IN_NAMES.sub("-", about.name.lower())[: LONGEST_NAME - len(stamp) - 1]
    return ".".join(filter(None, (*(label.strip("-") for label in name.split(".")), stamp)))


def name_for_all(key: EventKey, occurrence: str) -> str:
    """The same wherever and whenever the same is told."""
    content = f"{key.about.uid}\n{key.reason}\n{key.note}\n{occurrence}"
    return event_name(key.about, blake2b(content.encode(errors="replace"), digest_size=8).hexdigest())


def as_creation(resource: Resource, name: str, key: EventKey, told: Repetition, by: Reporter) -> Request:
    namespace, form = namespace_of(key.about), key.form
    component, action = form.component or by.component, word(form.action)
    body: dict[str, object] = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": namespace},
        "type": "Warning" if key.warning else "Normal",
        "reason": key.reason,
        "reportingInstance": word(by.instance),
        **({"related": _reference(form.related)} if form.related is not None else {}),
    }
    regarding = _reference(key.about)
    if resource == CORE_EVENTS:
        body |= {
            "involvedObject": regarding,
            "message": key.note,
            "source": {"component": component},
            "reportingComponent": component,
            **({"action": action} if action else {}),
            "firstTimestamp": _seconds(told.first),
            **_repetition(resource, told),
        }
    else:
        body |= {
            "regarding": regarding,
            "note": key.note,
            "action": action or key.reason,
            "reportingController": component,
            "eventTime": micro_time(told.first),
            **(_repetition(resource, told) if told.count > 1 else {}),
        }
    return request.create(resource, namespace, msgspec.json.encode(body))


def as_patch(resource: Resource, name: str, key: EventKey, told: Repetition) -> Request:
    ref = Ref(resource, namespace_of(key.about), name)
    return request.patch(ref, MERGE_PATCH, msgspec.json.encode(_repetition(resource, told)))


def _reference(ref: Ref) -> dict[str, str]:
    fields = {
        "apiVersion": ref.resource.api_version,
        "kind": ref.resource.kind,
        "name": ref.name,
        "namespace": ref.namespace,
        "uid": ref.uid,
    }
    return {field: value for field, value in fields.items() if value}


def _repetition(resource: Resource, told: Repetition) -> dict[str, object]:
    """How often so far, and when last."""
    if resource == CORE_EVENTS:
        return {"count": told.count, "lastTimestamp": _seconds(told.last)}
    return {"series": {"count": told.count, "lastObservedTime": micro_time(told.last)}}


def _seconds(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
