"""The note of a preparation: an annotation of each pod that may be prepared for a downscale, with the time of it.

It is written before the first pod is called, so that whoever comes after a crash knows whom to tell that they stay.
It goes with the pod: a downscale that takes place leaves none behind, and one that is denied has changed nothing of its
StatefulSet.
There is one per pod, and no limit of calls is asked for it: with 5 calls a second a downscale by 60 pods would never
come to calling them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from fairlead.contracts.zones.kinds import PREPARING
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.times import format_rfc3339, parse_rfc3339
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Ref

_PATH = f"/metadata/annotations/{PREPARING.replace('/', '~1')}"


def since_of(pod: Pod) -> datetime | None:
    """None without a note, and with one that cannot be read."""
    try:
        return parse_rfc3339(pod.metadata.annotations.get(PREPARING, ""))
    except ValueError:
        return None


def noted(zone: StatefulSet, pods: Iterable[str], now: datetime) -> tuple[Patch, ...]:
    """By name: whichever pod answers under it when it is called is the one to tell."""
    text = format_rfc3339(now)
    body = msgspec.json.encode({"metadata": {"annotations": {PREPARING: text}}})
    return tuple(
        Patch(
            does=Does.NOTE_PREPARATION,
            uncounted=True,
            scope=zone.metadata.uid,
            change_to=text,
            ref=Ref(PODS, zone.metadata.namespace, name),
            kind=PatchKind.MERGE,
            body=body,
        )
        for name in pods
    )


def forgotten(ref: Ref, text: str, scope: str) -> Patch:
    """Takes away the note of a pod that reads so, and no other."""
    return _changed(ref, text, scope, {"op": "remove", "path": _PATH}, "")


def renewed(ref: Ref, text: str, scope: str, now: datetime) -> Patch:
    """Gives the note of a pod that reads so, and no other, the time that it is."""
    value = format_rfc3339(now)
    return _changed(ref, text, scope, {"op": "replace", "path": _PATH, "value": value}, value)


def _changed(ref: Ref, text: str, scope: str, step: dict[str, str], to: str) -> Patch:
    return Patch(
        does=Does.NOTE_PREPARATION,
        uncounted=True,
        scope=scope,
        change_from=text,
        change_to=to,
        ref=ref,
        kind=PatchKind.JSON,
        body=msgspec.json.encode([{"op": "test", "path": _PATH, "value": text}, step]),
    )
