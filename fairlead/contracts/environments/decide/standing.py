"""Where an environment stands: what the rules of a rollout read, named as the contract names it.

A is the generation that serves and N the one after it. H is the hash of what is wanted, R of the rollout that was
asked for last, and L of the one that was completed last.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.decide.applying import ApplyFacts
from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.decide.objects.generation import generation_refs
from fairlead.contracts.environments.decide.objects.names import environmentd_name, environmentd_service_name
from fairlead.contracts.environments.decide.objects.wanted import Environment
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.decide.serving import selected_by
from fairlead.contracts.environments.decide.timeout import DEFAULT, DEFAULT_SECONDS, timeout_seconds
from fairlead.contracts.environments.kinds import (
    CONDITION,
    FORCE_ROLLOUT,
    MATERIALIZES,
    NIL,
    ROLLOUT_HASH,
    Child,
    Condition,
    GenerationSet,
    MaterializeSpec,
    MaterializeStatus,
)
from fairlead.contracts.environments.settings import Settings
from fairlead.core.uuids import parse, uuid5
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Meta, Ref

APPLYING = "Applying"
READY_TO_PROMOTE = "ReadyToPromote"
PROMOTING = "Promoting"
APPLIED = "Applied"
FAILED_DEPLOY = "FailedDeploy"
ROLLOUT_TIMEOUT = "RolloutTimeout"

IMMEDIATELY = "ImmediatelyPromoteCausingDowntime"
MANUALLY = "ManuallyPromote"


class Standing(Struct, frozen=True, kw_only=True):
    """Of an environment that has an identity: a status, a readable spec and an environment id."""

    seen: Snapshot
    status: MaterializeStatus
    environment: Environment
    hash: str
    """H."""

    @property
    def uid(self) -> str:
        return self.environment.uid

    @property
    def ref(self) -> Ref:
        return Ref(MATERIALIZES, self.environment.namespace, self.environment.name, self.uid)

    @property
    def settings(self) -> Settings:
        return self.seen.settings

    @property
    def spec(self) -> MaterializeSpec:
        return self.environment.spec

    @property
    def facts(self) -> ApplyFacts:
        """What decides whether an object of the environment must be applied."""
        return ApplyFacts(self.uid, self.seen.applied, self.seen.answers, self.existing, self.occasion)

    @property
    def occasion(self) -> str:
        """What tells the rollout from an earlier one to the same hash: an annotation changes no generation."""
        since = "" if self.condition is None else self.condition.last_transition_time.isoformat()
        return f"{self.seen.environment.metadata.generation} {(self.requested or '')[:12]} {since}"

    @property
    def active(self) -> int:
        """A."""
        return self.status.active_generation

    @property
    def target(self) -> int:
        """N."""
        return self.active + 1

    @property
    def requested(self) -> str | None:
        """R."""
        return self.status.requested_rollout_hash

    @property
    def completed(self) -> str | None:
        """L."""
        return self.status.last_completed_rollout_hash

    @property
    def condition(self) -> Condition | None:
        return condition_of(self.status)

    @property
    def reason(self) -> str:
        """Of the stored condition; empty where there is none."""
        return "" if self.condition is None else self.condition.reason

    @property
    def is_promoting(self) -> bool:
        return is_promoting(self.status)

    @property
    def is_settled(self) -> bool:
        """Case 3: what is wanted is what was completed."""
        return self.hash == self.completed

    @property
    def is_forced(self) -> bool:
        """Whether catching up is skipped and nobody is waited for; to be asked once R is H in the stored status.

        A person may name the rollout by its hash, or by the request that v1alpha1 shows for it; nil is neither.
        """
        if self.spec.rollout_strategy == IMMEDIATELY:
            return True
        named = self.spec.force_promote
        if not named or not self.requested:
            return False
        return named == self.requested or parse(named) == uuid5(self.requested)

    @property
    def expires(self) -> datetime | None:
        """When the rollout is given up, should it still be on its way then; None for one that is not."""
        condition = self.condition
        if condition is None or condition.reason not in (APPLYING, READY_TO_PROMOTE):
            return None
        if self.requested != self.hash or self.is_forced or self.is_inherited or self.has_lost_active:
            return None
        try:
            return condition.last_transition_time + timedelta(seconds=self.timeout_seconds)
        except OverflowError:
            return None

    @property
    def is_inherited(self) -> bool:
        """Whether the rollout was begun by an operator that knew no hashes: R came with the conversion of the object.

        Its time counts from when it is taken up here, which is when N gets the hash.
        """
        found = self.statefulset(self.target)
        return self.completed is None and found is not None and ROLLOUT_HASH not in found.metadata.annotations

    @property
    def has_lost_active(self) -> bool:
        """Whether A is gone, for a downtime that was accepted or by somebody's hand, and N is all that can serve."""
        return self.active > 0 and self.statefulset(self.active) is None

    @property
    def timeout_seconds(self) -> float:
        return timeout_seconds(self.spec.rollout_request_timeout)

    @property
    def timeout_text(self) -> str:
        """As the spec has it, where it says something else than the default."""
        given = self.spec.rollout_request_timeout
        return DEFAULT if given is None or self.timeout_seconds == DEFAULT_SECONDS else given

    @property
    def public_service(self) -> Child | None:
        return self.seen.children.get((SERVICES, environmentd_service_name(self.environment.resource_id)))

    @property
    def selected(self) -> int | None:
        """The generation that the public Service leads to; None where it leads to none."""
        service = self.public_service
        return None if service is None else selected_by(self.environment.resource_id, service)

    def serves(self, generation: int) -> bool:
        """Whether the public Service selects this generation."""
        return self.selected == generation

    def statefulset(self, generation: int) -> GenerationSet | None:
        return statefulset_of(self.seen, self.environment.resource_id, generation)

    def existing(self, ref: Ref) -> Meta | None:
        """What the caches show of an object of the environment."""
        if ref.resource == STATEFULSETS:
            return next((each.metadata for each in self.seen.statefulsets if each.metadata.name == ref.name), None)
        child = self.seen.children.get((ref.resource, ref.name))
        return None if child is None else child.metadata

    def left_of(self, generation: int) -> tuple[tuple[Ref, Meta], ...]:
        """The objects of a generation that exist, in the order in which they are taken down."""
        refs = generation_refs(self.environment.namespace, self.environment.resource_id, generation)
        return tuple((ref, found) for ref in refs if (found := self.existing(ref)) is not None)


def standing_of(seen: Snapshot) -> Standing:
    """For an environment that every rule of identity has passed."""
    resource, status = seen.environment, seen.environment.status
    if status is None:
        raise ValueError(f"{resource.metadata.name} has no status yet, which comes before its rollouts")
    spec = resource.wish
    environment = Environment(
        namespace=resource.metadata.namespace,
        name=resource.metadata.name,
        uid=resource.metadata.uid,
        resource_id=status.resource_id,
        spec=spec,
        running_image=status.last_completed_rollout_environmentd_image_ref or spec.environmentd_image_ref,
        running_accounts=tuple(_accounts(seen, status)),
        force_annotation=resource.metadata.annotations.get(FORCE_ROLLOUT),
    )
    hashed = rollout_hash(resource.spec, resource.metadata.annotations)
    return Standing(seen=seen, status=status, environment=environment, hash=hashed)


def statefulset_of(seen: Snapshot, resource_id: str, generation: int) -> GenerationSet | None:
    name = environmentd_name(resource_id, generation)
    return next((each for each in seen.statefulsets if each.metadata.name == name), None)


def _accounts(seen: Snapshot, status: MaterializeStatus) -> Iterator[str]:
    """Those that the generations which exist run as."""
    for generation in (status.active_generation, status.active_generation + 1):
        found = statefulset_of(seen, status.resource_id, generation)
        if found is not None and (name := found.spec.template.spec.service_account_name):
            yield name


def condition_of(status: MaterializeStatus) -> Condition | None:
    """The one that is kept; one that promotes before any other, should somebody have added more."""
    promoting = (each for each in status.conditions if each.reason == PROMOTING)
    named = (each for each in status.conditions if each.type == CONDITION)
    return next(promoting, None) or next(named, None)


def is_promoting(status: MaterializeStatus) -> bool:
    """Case 1: the point of no return was passed, and recorded."""
    return any(each.reason == PROMOTING for each in status.conditions)


def has_environment_id(seen: Snapshot) -> bool:
    """Hashes are never compared before it is there, because it is part of them."""
    return parse(seen.environment.spec.get("environmentId")) not in (None, NIL)


def spec_trouble(seen: Snapshot) -> str:
    """Why the spec cannot be read; empty when it can. The schema lets nothing such pass."""
    try:
        _ = seen.environment.wish
    except msgspec.ValidationError as error:
        return str(error)
    return ""
