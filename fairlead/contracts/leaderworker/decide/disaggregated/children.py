"""The LeaderWorkerSets of a DisaggregatedSet (section 6.7): names and labels, which there are, and what is created.

A child is one role of one revision in one slice. Those of releases that knew no slices have none in their name and
labels, and are of the first slice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.decide.disaggregated.placement import with_placement
from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.decide.trees import texts
from fairlead.contracts.leaderworker.disaggregated.kinds import (
    APP,
    DISAGGREGATED_SETS,
    INITIAL_REPLICAS,
    NAME,
    REVISION,
    ROLE,
    SERVICE_SUFFIX,
    SLICE,
    DisaggregatedSet,
    Role,
)
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, Json, LeaderWorkerSet
from fairlead.core.act import Create, Does, EventNote
from fairlead.core.integers import parse_integer
from kubeloop.objects.meta import Ref

TEMPLATES = ("leaderTemplate", "workerTemplate")
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


class Child(Struct, frozen=True):
    """A LeaderWorkerSet that the set controls, and its place in it."""

    found: LeaderWorkerSet
    slice: int
    revision: str
    role: str
    is_legacy: bool
    """Whether it has no slice in its labels."""

    @property
    def name(self) -> str:
        return self.found.metadata.name

    @property
    def ref(self) -> Ref:
        given = self.found.metadata
        return Ref(LEADER_WORKER_SETS, given.namespace, given.name, given.uid)

    @property
    def replicas(self) -> int:
        return self.found.spec.replicas

    @property
    def ready(self) -> int:
        return self.found.status.ready_replicas

    @property
    def is_stable(self) -> bool:
        """Whether all of its groups are there and ready."""
        return self.replicas == self.ready

    @property
    def is_leaving(self) -> bool:
        return self.found.metadata.deletion_timestamp is not None

    @property
    def noted(self) -> int | None:
        """Its replicas when a rollout began to take them away; None where that was not noted."""
        try:
            found = parse_integer(self.found.metadata.annotations.get(INITIAL_REPLICAS, ""))
        except ValueError:
            return None
        return found if found >= 0 else None

    @property
    def initial(self) -> int:
        return self.replicas if self.noted is None else self.noted

    @property
    def created(self) -> datetime:
        return self.found.metadata.creation_timestamp or _LONG_AGO


def owned(seen: DisaggregatedSeen) -> tuple[Child, ...]:
    """What this very set controls, those that are being deleted too; others count for nothing."""
    found = (each for each in seen.children if each.metadata.controller_uid == seen.set.metadata.uid)
    made = (child for each in found if (child := _placed(seen.set, each)) is not None)
    return tuple(sorted(made, key=lambda each: (each.slice, each.role, each.is_legacy, each.name)))


def _placed(given: DisaggregatedSet, found: LeaderWorkerSet) -> Child | None:
    labels = found.metadata.labels
    if labels.get(NAME) != given.metadata.name or not labels.get(ROLE) or not labels.get(REVISION):
        return None
    if SLICE not in labels:
        return Child(found, 0, labels[REVISION], labels[ROLE], True)
    try:
        index = parse_integer(labels[SLICE])
    except ValueError:
        return None
    return Child(found, index, labels[REVISION], labels[ROLE], False) if index >= 0 else None


class Generation(Struct, frozen=True):
    """The children of one revision in one slice."""

    revision: str
    roles: dict[str, Child]

    @property
    def created(self) -> datetime:
        return max(each.created for each in self.roles.values())

    @property
    def is_drained(self) -> bool:
        return not any(each.replicas for each in self.roles.values())

    def is_serving(self, roles: Iterable[Role]) -> bool:
        """Whether every one of these roles has something ready."""
        return all(each.name in self.roles and self.roles[each.name].ready >= 1 for each in roles)


def generations(children: Iterable[Child]) -> tuple[Generation, ...]:
    """By revision, the newest first; of two of a role the one with a slice. What is being deleted is left out."""
    by_revision: dict[str, dict[str, Child]] = {}
    for each in children:
        if not each.is_leaving:
            by_revision.setdefault(each.revision, {}).setdefault(each.role, each)
    made = [Generation(revision, roles) for revision, roles in by_revision.items()]
    return tuple(sorted(made, key=lambda each: (each.created, each.revision), reverse=True))


def child_name(given: DisaggregatedSet, index: int, revision: str, role: str) -> str:
    return f"{given.metadata.name}-{index}-{revision}-{role}"


def service_name(child: str) -> str:
    return f"{child}{SERVICE_SUFFIX}"


def labels_of(given: DisaggregatedSet, index: int, revision: str, role: str) -> dict[str, str]:
    name = given.metadata.name
    return {
        APP: f"{name}-{index}-{role}",
        NAME: name,
        ROLE: role,
        SLICE: str(index),
        REVISION: revision,
    }


INJECTED = frozenset({APP, NAME, ROLE, SLICE, REVISION})


def owner_of(given: DisaggregatedSet, *, blocks: bool = False) -> Json:
    owner = {
        "apiVersion": DISAGGREGATED_SETS.api_version,
        "kind": DISAGGREGATED_SETS.kind,
        "name": given.metadata.name,
        "uid": given.metadata.uid,
        "controller": True,
    }
    return {**owner, "blockOwnerDeletion": True} if blocks else owner


def child_body(given: DisaggregatedSet, role: Role, index: int, revision: str, replicas: int) -> Json:
    """The role's spec as it is written, with labels by which Services and people find its pods."""
    labels = labels_of(given, index, revision, role.name)
    spec = deepcopy(role.spec)
    spec["replicas"] = replicas
    for template in _templates(spec):
        metadata = template.get("metadata")
        metadata = template["metadata"] = metadata if isinstance(metadata, dict) else {}
        metadata["labels"] = {**texts(metadata, "labels"), **labels}
        with_placement(template, given, index)
    metadata = {
        "name": child_name(given, index, revision, role.name),
        "namespace": given.metadata.namespace,
        "labels": {**texts(role.metadata, "labels"), **labels},
        "ownerReferences": [owner_of(given)],
    }
    if annotations := texts(role.metadata, "annotations"):
        metadata["annotations"] = annotations
    return {
        "apiVersion": LEADER_WORKER_SETS.api_version,
        "kind": LEADER_WORKER_SETS.kind,
        "metadata": metadata,
        "spec": spec,
    }


def _templates(spec: Json) -> Iterator[Json]:
    template = spec.get("leaderWorkerTemplate")
    for name in TEMPLATES:
        found = template.get(name) if isinstance(template, dict) else None
        if isinstance(found, dict):
            yield found


def created(
    given: DisaggregatedSet, role: Role, index: int, revision: str, replicas: int, tell: EventNote | None = None
) -> Create:
    body = child_body(given, role, index, revision, replicas)
    return Create(
        resource=LEADER_WORKER_SETS,
        namespace=given.metadata.namespace,
        name=child_name(given, index, revision, role.name),
        body=msgspec.json.encode(body, order="sorted"),
        does=Does.CREATE_ROLE,
        scope=given.metadata.uid,
        change_to=f"replicas {replicas}",
        refusable=True,
        contested=True,
        tell=tell,
    )
