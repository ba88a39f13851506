"""What is done with a Widget: whose fields it holds, then its StatefulSet, then its status."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.payload import Payload, PayloadVerdict, judged
from fairlead.contracts.apiversions.decide.payload_actions import condition, normalizing, note, noted_payload
from fairlead.core.act import AnyWrite, Create, Does, EventNote, Patch, PatchKind
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.core.rollout_hash import HashChange, HashWays, hash_of
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Ref
from tests.widgets.kinds import FINALIZER, KIND, OF_WIDGET, REGISTERED, WIDGETS, Widget, Workload

PART, NOUN = "widgets", "widget"


def _with_weights(body: Any) -> str:
    return hash_of({"format": 2, "body": body})


WAYS = {1: hash_of, 2: _with_weights}
"""The second is another way of saying the same."""


class Settings(Struct, frozen=True):
    """Of one version of the operator."""

    helper_image: str = "example.test/helper:1"
    hash_ways: tuple[int, ...] = (1,)
    has_predecessors: bool = False
    normalizes: bool = False
    """Whether specs are rewritten in the hub."""


class Seen(Struct, frozen=True):
    widget: Widget
    workload: Workload | None
    settings: Settings
    answers: Answers = Answers()


def decide(seen: Seen, now: datetime) -> Decision:
    meta = seen.widget.metadata
    if meta.deletion_timestamp is not None:
        rest = [each for each in meta.finalizers if each != FINALIZER]
        released = _patched(seen, Does.REMOVE_FINALIZER, {"metadata": {"finalizers": rest}})
        return Decision("leave", Move(Reason.SETTLING, (released,) if FINALIZER in meta.finalizers else ()))
    if FINALIZER not in meta.finalizers:
        body = {"metadata": {"finalizers": [*meta.finalizers, FINALIZER]}}
        return Decision("claim", Move(Reason.APPLYING, (_patched(seen, Does.ADD_FINALIZER, body),)))
    payload = judged(seen.widget.tree, KIND)
    about = note(payload, _ref(seen.widget), WIDGETS.version, meta.generation)
    tell = () if about is None else (about,)
    reports = _status(seen, payload, now)
    if payload.verdict is PayloadVerdict.AMBIGUOUS or payload.tree is None:
        return Decision("ambiguous", Hold(Reason.PAYLOAD_AMBIGUOUS), tell, reports=reports)
    rewritten = normalizing(seen.widget.tree, payload, KIND, REGISTERED) if seen.settings.normalizes else None
    if rewritten is not None:
        write = _patched(seen, Does.REWRITE_OBJECT, rewritten)
        return Decision("normalize", Move(Reason.APPLYING, (write,)), tell)
    writes = _workload(seen, payload.tree["spec"])
    if writes:
        return Decision("roll", Move(Reason.ROLLING, writes), tell, reports=reports)
    noted = noted_payload(seen.widget.tree, payload)
    if noted and not reports:
        stamped = _patched(seen, Does.REPORT_STATUS, {"metadata": {"annotations": noted}})
        return Decision("note", Hold(Reason.COMPLETE), tell, reports=(stamped,))
    return Decision("complete", Hold(Reason.COMPLETE), tell, reports=reports)


def _ref(widget: Widget) -> Ref:
    return Ref(WIDGETS, widget.metadata.namespace, widget.metadata.name, widget.metadata.uid)


def _patched(seen: Seen, does: Does, body: Any, subresource: str = "") -> Patch:
    meta = seen.widget.metadata
    return Patch(
        ref=_ref(seen.widget),
        does=does,
        scope=meta.uid,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode(body),
        subresource=subresource,
        resource_version=meta.resource_version,
        contested=True,
    )


def _status(seen: Seen, payload: Payload, now: datetime) -> tuple[AnyWrite, ...]:
    status = seen.widget.status if isinstance(seen.widget.status, dict) else {}
    before = status.get("conditions") or []
    generation = seen.widget.metadata.generation
    said = condition(payload, WIDGETS.version, before, generation, now)
    wanted = {"conditions": [] if said is None else [said], "observedGeneration": generation}
    return () if status == wanted else (_patched(seen, Does.REPORT_STATUS, {"status": wanted}, "status"),)


def _workload(seen: Seen, spec: dict[str, Any]) -> tuple[AnyWrite, ...]:
    ways, found = HashWays({each: WAYS[each] for each in seen.settings.hash_ways}), seen.workload
    body = {key: value for key, value in spec.items() if key != "size"}
    replicas = int(spec.get("size", 1))
    if found is None:
        return (_created(seen, spec, ways.note(body)),)
    change = ways.change(body, found.metadata.annotations)
    wanted: dict[str, Any] = {}
    if change is not HashChange.NONE:
        wanted["metadata"] = {"annotations": ways.note(body)}
    if change is HashChange.ROLL:
        wanted["spec"] = {"template": _template(seen, spec)}
    if found.spec.get("replicas") != replicas:
        wanted.setdefault("spec", {})["replicas"] = replicas
    if not wanted:
        return ()
    ref = Ref(STATEFULSETS, found.metadata.namespace, found.metadata.name, found.metadata.uid)
    return (
        Patch(
            ref=ref,
            does=Does.APPLY_OBJECT,
            scope=seen.widget.metadata.uid,
            kind=PatchKind.MERGE,
            body=msgspec.json.encode(wanted),
            resource_version=found.metadata.resource_version,
            tell=_forgotten(seen) if change is HashChange.UNKNOWN else None,
        ),
    )


def _forgotten(seen: Seen) -> EventNote:
    text = "nobody can tell any more what the workload was rolled for; it is taken as it is"
    return EventNote(_ref(seen.widget), False, "HashForgotten", text)


def _created(seen: Seen, spec: dict[str, Any], noted: dict[str, str]) -> Create:
    meta = seen.widget.metadata
    owner = {
        "apiVersion": WIDGETS.api_version,
        "kind": WIDGETS.kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
    }
    body = {
        "apiVersion": STATEFULSETS.api_version,
        "kind": STATEFULSETS.kind,
        "metadata": {
            "name": meta.name,
            "labels": {OF_WIDGET: meta.name},
            "annotations": noted,
            "ownerReferences": [owner],
        },
        "spec": {
            "replicas": int(spec.get("size", 1)),
            "serviceName": meta.name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {OF_WIDGET: meta.name}},
            "template": _template(seen, spec),
        },
    }
    return Create(
        does=Does.APPLY_OBJECT,
        scope=meta.uid,
        resource=STATEFULSETS,
        namespace=meta.namespace,
        name=meta.name,
        body=msgspec.json.encode(body),
        contested=True,
    )


def _template(seen: Seen, spec: dict[str, Any]) -> dict[str, Any]:
    """The user's container, and beside it the helper of this version of the operator."""
    colour = (spec.get("paint") or {}).get("colour", "")
    main = {"name": "main", "image": "example.test/widget:1", "env": [{"name": "COLOUR", "value": colour}]}
    helper = {"name": "helper", "image": seen.settings.helper_image}
    labels = {OF_WIDGET: seen.widget.metadata.name}
    return {"metadata": {"labels": labels}, "spec": {"containers": [main, helper]}}
