"""Which LeaderWorkerSet a verb is about, and its revisions, as they are read live."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.decide.groups import key_on
from fairlead.contracts.leaderworker.decide.normal_form import UnreadableData, is_same
from fairlead.contracts.leaderworker.decide.revisions import data_of, key_of, readable, stored
from fairlead.contracts.leaderworker.kinds import (
    LEADER_WORKER_SETS,
    NAME,
    PAUSED,
    LeaderWorkerSet,
    Revision,
    StatefulSet,
)
from fairlead.core.ask import Answers, Ask, Good, Listing, Need, Read
from fairlead.core.field_managers import ManagedFields
from fairlead.core.verb import Absent, Refused, Tree, VerbRequest
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.meta import Ref

T = TypeVar("T")


class _Meta(Struct, frozen=True, rename="camel"):
    managed_fields: tuple[ManagedFields, ...] = ()


class _Whole(Struct, frozen=True):
    """What no decision of a round reads."""

    metadata: _Meta
    spec: dict[str, Any] = {}


class Items(Struct, Generic[T], frozen=True):
    items: tuple[T, ...] = ()


class Target(Struct, frozen=True):
    set: LeaderWorkerSet
    spec: Tree
    """As it is stored."""
    managed: tuple[ManagedFields, ...]

    @property
    def name(self) -> str:
        return self.set.metadata.name

    @property
    def place(self) -> str:
        """Name and namespace as arguments of a command."""
        return f"{self.name} -n {self.set.metadata.namespace}"

    @property
    def ref(self) -> Ref:
        metadata = self.set.metadata
        return Ref(LEADER_WORKER_SETS, metadata.namespace, metadata.name, metadata.uid)

    @property
    def bound(self) -> Tree:
        """Metadata of a patch of exactly the version that was read."""
        metadata = self.set.metadata
        return {"uid": metadata.uid, "resourceVersion": metadata.resource_version}

    @property
    def marks(self) -> dict[str, str]:
        metadata = self.set.metadata
        return {**metadata.labels, **metadata.annotations}

    @property
    def is_paused(self) -> bool:
        return self.set.metadata.annotations.get(PAUSED) == "true"


def find(request: VerbRequest, answers: Answers, _: datetime) -> bool | Need:
    found = _read(request, answers)
    return found if isinstance(found, Need) else isinstance(found, Target)


def target_named(request: VerbRequest, answers: Answers) -> Target | Absent | Refused | Need:
    """The set of this name; one that is being deleted is not changed any more."""
    found = _read(request, answers)
    if isinstance(found, Target) and found.set.metadata.deletion_timestamp is not None:
        return Refused(f"{found.name} is being deleted")
    return found


def _read(request: VerbRequest, answers: Answers) -> Target | Absent | Need:
    if not request.name:
        return Absent()  # read without a name, the server would list
    question = Ask(Read(Ref(LEADER_WORKER_SETS, request.namespace, request.name)))
    if todo := answers.lacking((question,)):
        return Need(todo)
    answer = answers[question]
    if not isinstance(answer, Good):
        return Absent()
    whole = msgspec.json.decode(answer.value, type=_Whole)
    return Target(msgspec.json.decode(answer.value, type=LeaderWorkerSet), whole.spec, whole.metadata.managed_fields)


def leaders_question(target: Target) -> Ask:
    metadata = target.set.metadata
    return Ask(Read(Ref(STATEFULSETS, metadata.namespace, metadata.name)))


def revisions_question(target: Target) -> Ask:
    return Ask(Listing(CONTROLLER_REVISIONS, target.set.metadata.namespace, f"{NAME}={target.name}"))


def revisions_of(target: Target, answers: Answers) -> list[Revision]:
    """Oldest first; of several with one key the newest, which is the one that counts."""
    answer = answers[revisions_question(target)]
    items = msgspec.json.decode(answer.value, type=Items[Revision]).items if isinstance(answer, Good) else ()
    newest = {key_of(each): each for each in readable(target.set, items)}
    return sorted(newest.values(), key=lambda each: each.revision)


def current_keys(target: Target, revisions: list[Revision], answers: Answers) -> frozenset[str]:
    """Of the revisions that say what the spec says; that of the leaders where the operator has taken it for the same.

    Empty where the newest edit is recorded nowhere yet.
    """
    if equal := frozenset(key_of(each) for each in revisions if is_live(target, each)):
        return equal
    seen, answer = target.set, answers[leaders_question(target)]
    if not isinstance(answer, Good) or seen.status.observed_generation != seen.metadata.generation:
        return frozenset()
    return frozenset({key_on(msgspec.json.decode(answer.value, type=StatefulSet).metadata)})


def is_live(target: Target, revision: Revision) -> bool:
    """Whether it says what the spec says."""
    try:
        return is_same(data_of(target.set), stored(revision))
    except UnreadableData:
        return False


def numbered(revisions: list[Revision], wanted: str) -> Revision | None:
    """By its number, its key, or the name of the ControllerRevision."""
    return next((each for each in revisions if wanted in (str(each.revision), key_of(each), each.metadata.name)), None)
