"""Which rollout a verb is about, as it is read live."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide import states
from fairlead.contracts.plans.decide.reading import read, rollout_plan, rollout_status
from fairlead.contracts.plans.kinds import (
    ABANDONED,
    ACTION,
    APP_ROLLOUTS,
    APPLICATION_DEPLOYMENTS,
    DELETING,
    FAILING,
    ROLLOUT_TRAITS,
    ROLLOUTS,
    TERMINAL,
    RolloutPlan,
    RolloutStatus,
    TraitMeta,
    TraitSpec,
)
from fairlead.core.ask import Answers, Ask, Good, Need, Read
from fairlead.core.field_managers import ManagedFields, manifest_managers
from fairlead.core.verb import Absent, Refused, Tree, VerbRequest, VerbWrite
from kubeloop.objects.meta import Ref, Resource

RESOURCES = (ROLLOUT_TRAITS, APPLICATION_DEPLOYMENTS, ROLLOUTS, APP_ROLLOUTS)
"""In the order in which a name is looked for."""
PLAN = ("spec", "rolloutPlan")
GIVING_UP = frozenset({FAILING, ABANDONED, DELETING})


class _Meta(TraitMeta, frozen=True, rename="camel"):
    managed_fields: tuple[ManagedFields, ...] = ()


class _Stored(Struct, frozen=True):
    metadata: _Meta
    spec: Any = None
    status: Any = None


class VerbTarget(Struct, frozen=True):
    resource: Resource
    stored: _Stored

    @property
    def name(self) -> str:
        return self.stored.metadata.name

    @property
    def namespace(self) -> str:
        return self.stored.metadata.namespace

    @property
    def place(self) -> str:
        """Name and namespace as arguments of a command."""
        return f"{self.name} -n {self.namespace}"

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.namespace, self.name, self.stored.metadata.uid)

    @property
    def spec(self) -> TraitSpec:
        return read(TraitSpec, self.stored.spec, "spec")[0]

    @property
    def tree(self) -> Tree:
        """The spec as it is stored."""
        return self.stored.spec if isinstance(self.stored.spec, dict) else {}

    @property
    def plan(self) -> RolloutPlan:
        return rollout_plan(self.tree.get("rolloutPlan"))[0]

    @property
    def status(self) -> RolloutStatus:
        return states.known(rollout_status(self.stored.status))

    @property
    def state(self) -> str:
        return self.status.rolling_state

    @property
    def has_ended(self) -> bool:
        return self.state in TERMINAL

    @property
    def last_batch(self) -> int:
        """As the attempt has it; before it is verified, as the plan says."""
        return (len(self.status.effective_batches) or self.plan.batch_count) - 1

    @property
    def asked(self) -> str:
        """An action that somebody asked for and that is not taken up yet; empty where there is none."""
        action = self.stored.metadata.annotations.get(ACTION, "")
        return "" if action == self.status.last_action else action.partition("@")[0]

    def patched(self, spec: Tree, shown: tuple[str, ...]) -> VerbWrite:
        """A patch of exactly the version that was read."""
        return VerbWrite(self.ref, {"metadata": self._bound, "spec": spec}, shown)

    def annotated(self, key: str, value: str) -> VerbWrite:
        before = self.stored.metadata.annotations.get(key) or "nothing"
        patch = {"metadata": {**self._bound, "annotations": {key: value}}}
        return VerbWrite(self.ref, patch, (f"{key}: {before} -> {value}",))

    @property
    def _bound(self) -> Tree:
        metadata = self.stored.metadata
        return {"uid": metadata.uid, "resourceVersion": metadata.resource_version}

    def put_back_by(self, *path: str) -> tuple[str, ...]:
        """A warning where a manifest has this field and comes again with the next sync or apply."""
        found = manifest_managers(self.stored.metadata.managed_fields, {}, path)
        if not found:
            return ()
        return (f"{'.'.join(path)} is in the manifest of {', '.join(found)}: change it there as well",)


def find(request: VerbRequest, answers: Answers, _: datetime) -> bool | Need:
    found = looked_up(request, answers)
    return found if isinstance(found, Need) else isinstance(found, VerbTarget)


def target_named(request: VerbRequest, answers: Answers) -> VerbTarget | Absent | Refused | Need:
    """The rollout of this name; one that is being deleted is not changed any more."""
    found = looked_up(request, answers)
    if isinstance(found, VerbTarget) and found.stored.metadata.deletion_timestamp is not None:
        return Refused(f"{found.name} is being deleted")
    return found


def looked_up(request: VerbRequest, answers: Answers) -> VerbTarget | Absent | Need:
    """The rollout of this name, whatever becomes of it."""
    if not request.name:
        return Absent()  # read without a name, the server would list
    for resource in RESOURCES:
        if request.noun and request.noun != resource.kind.lower():
            continue
        question = Ask(Read(Ref(resource, request.namespace, request.name)))
        if todo := answers.lacking((question,)):
            return Need(todo)
        answer = answers[question]
        if isinstance(answer, Good):
            return VerbTarget(resource, msgspec.json.decode(answer.value, type=_Stored))
    return Absent()
