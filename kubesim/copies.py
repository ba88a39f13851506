"""The state of a cluster as a value: to be held by other clusters, any number of them, at the cost of a few tables.

Versions of objects never change, so all who hold a copy share them. A copy of a cluster that lives elsewhere knows more
than its objects: what could not be read, and what its pods have lived through.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import Struct

from kubeloop.calls import Call, NoReply, Reply
from kubeloop.objects.meta import Resource
from kubesim.pods.histories import Histories
from kubesim.store.versions import Key, Version

Tables = Mapping[Resource, Mapping[Key, Version]]


class Unusable(Exception):
    """No state can be read there; the text is a sentence that says what would help."""


class Marks(Struct, frozen=True):
    """What is known of a copy besides its objects."""

    unread: tuple[Resource, ...] = ()
    """Kinds that could not be read: whoever needs them stands still."""
    undefined: tuple[Resource, ...] = ()
    """Kinds that are neither built in nor defined: their objects are kept and served as they are."""
    lost_owners: frozenset[str] = frozenset()
    """UIDs that objects name as owners and that are not there: nobody can tell whether those are gone."""
    unanswered: tuple[str, ...] = ()
    """Hosts of webhooks that nobody answers for."""
    nodes: tuple[str, ...] | None = None
    """Whose pods the kubelet runs; None for those that it registers itself."""
    pods: Histories = Histories()
    authority: str | None = None
    """The certificates that its namespaces are told; None for those of whoever serves it."""


class Copy(Struct, frozen=True):
    """Everything that a cluster holds at a moment."""

    revision: int
    now: datetime
    """By the cluster's clock, which never goes back."""
    tables: Tables
    marks: Marks = Marks()
    remarks: tuple[str, ...] = ()
    """What was left out or is otherwise than it was, a sentence each."""

    @property
    def size(self) -> int:
        """How many objects there are."""
        return sum(map(len, self.tables.values()))


class _Asked(Struct, frozen=True):
    uid: str


class _Review(Struct, frozen=True):
    kind: str
    api_version: str = msgspec.field(name="apiVersion")
    request: _Asked


async def pass_all(call: Call) -> Reply:
    """Answers for an admission webhook that lets everything pass; what else is asked of it nobody answers."""
    try:
        review = msgspec.json.decode(call.body, type=_Review)
    except msgspec.DecodeError:
        review = None
    if review is None or review.kind != "AdmissionReview":
        raise NoReply(f"{call.shown}: nobody answers for the services of a copied cluster")
    passed = {"uid": review.request.uid, "allowed": True}
    answer = {"kind": review.kind, "apiVersion": review.api_version, "response": passed}
    return Reply(200, msgspec.json.encode(answer), (("Content-Type", "application/json"),))
