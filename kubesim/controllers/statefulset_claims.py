"""The claims of a StatefulSet's pods: made before the pod, and owned as the set's retention policy says.

A claim belongs to a place of the set, `TEMPLATE-SET-ORDINAL`, and outlives the pod in it. Under a policy that deletes
claims it is owned by the set, or by a pod that has no place any more, so that the garbage collector takes it along.
Claims are looked at when the set is looked at for another reason: a claim that somebody deletes wakes nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Meta, OwnerReference, Resource
from kubesim.controllers.base import Api, Stale, View
from kubesim.controllers.event_recorder import Recorder
from kubesim.controllers.replicas import owner_reference
from kubesim.controllers.statefulset_pods import DELETE, Set, claim_name, ordinal_of_name
from kubesim.controllers.storage import Claim
from kubesim.errors import StatusError
from kubesim.kinds.registry import CLAIMS
from kubesim.store.versions import Tree

CONFLICT = "has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for"


class ClaimsMissing(Stale):
    """Claims of a pod could not be made, or are on their way out: to be tried again."""


class PodClaims:
    """Works from a lagging view of the claims; `wrote` is told what was written."""

    def __init__(self, api: Api, events: Recorder, wrote: Callable[[Set, Tree], None]) -> None:
        self._api = api
        self._events = events
        self._wrote = wrote
        self.view: View[Claim] = api.view(CLAIMS, Claim)

    def block(self, set_: Set, ordinal: int) -> bool:
        """Whether a claim still belongs to an earlier pod of the place, with which it is about to go."""
        if set_.retention.when_scaled != DELETE:
            return False
        pod = Meta(f"{set_.metadata.name}-{ordinal}", "", "")
        return any(_is_of_another(claim, PODS, pod) for claim in self._present(set_, ordinal))

    async def make_missing(self, set_: Set, ordinal: int) -> None:
        """Makes those that are not there; one that is being deleted must be gone first."""
        problems = []
        for template in set_.spec.volume_claim_templates:
            name = claim_name(set_, template, ordinal)
            found = self.view.objects.get(set_.metadata.namespace, name)
            if found is None:
                problems += await self._make(set_, template, ordinal)
            elif found.metadata.deletion_timestamp is not None:
                problems.append(f"pvc {name} is being deleted")
        if problems:
            raise ClaimsMissing(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    async def _make(self, set_: Set, template: Tree, ordinal: int) -> list[str]:
        """What went wrong, if anything."""
        tree = _new_claim(set_, template, ordinal)
        name = tree["metadata"]["name"]
        subject, set_name = f"{set_.metadata.name}-{ordinal}", set_.metadata.name
        try:
            self._wrote(set_, await self._api.create(CLAIMS, set_.metadata.namespace, tree))
        except StatusError as error:
            if error.reason != "AlreadyExists":
                text = f"Create Claim {name} for Pod {subject} in StatefulSet {set_name} failed error: {error}"
                self._events.tell(STATEFULSETS, set_.metadata, "FailedCreate", text, warning=True)
            return [f"failed to create PVC {name}: {error}"]
        text = f"Create Claim {name} Pod {subject} in StatefulSet {set_name} success"
        self._events.tell(STATEFULSETS, set_.metadata, "SuccessfulCreate", text)
        return []

    def are_owned_as_said(self, set_: Set, pod: Meta) -> bool:
        """Whether the claims of the pod that are there have the owners that the policy gives them."""
        return all(_is_owned_as_said(claim, set_, pod) for claim in self._present(set_, ordinal_of_name(pod.name)))

    async def give_owners(self, set_: Set, pod: Meta) -> None:
        """Has the claims of the pod that are there owned as the policy says; a pod without UID is yet to be made."""
        for claim in self._present(set_, ordinal_of_name(pod.name)):
            name = claim.metadata.name
            if _is_of_others(claim, set_, pod):
                text = f"PersistentVolumeClaim {name} {CONFLICT} this claim"
                self._events.tell(STATEFULSETS, set_.metadata, "ConflictingController", text, warning=True)
            if not _is_owned_as_said(claim, set_, pod):
                await self._write_owners(set_, pod, claim)

    async def _write_owners(self, set_: Set, pod: Meta, claim: Claim) -> None:
        """Over the claim as it was seen: a change in between is a conflict."""
        meta = claim.metadata
        try:
            tree = self._api.read(CLAIMS, meta.namespace, meta.name)
            kept = [each for each in tree["metadata"].get("ownerReferences", []) if not _names_any(each, set_, pod)]
            added = [] if _is_of_others(claim, set_, pod) else _owners(set_, pod)
            tree["metadata"] |= {
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
                "ownerReferences": kept + added,
            }
            self._wrote(set_, await self._api.replace(CLAIMS, tree))
        except StatusError as error:
            text = f"could not update claim {meta.name} for delete policy ownerRefs: {error}"
            raise ClaimsMissing(text) from error

    def _present(self, set_: Set, ordinal: int) -> Iterator[Claim]:
        for template in set_.spec.volume_claim_templates:
            found = self.view.objects.get(set_.metadata.namespace, claim_name(set_, template, ordinal))
            if found is not None:
                yield found


def _new_claim(set_: Set, template: Tree, ordinal: int) -> Tree:
    """After the template, with the labels that the set selects by."""
    given = template["metadata"]
    metadata = given | {"name": claim_name(set_, template, ordinal), "namespace": set_.metadata.namespace}
    if labels := {**(given.get("labels") or {}), **set_.spec.selector.match_labels}:
        metadata["labels"] = labels
    return {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind, "metadata": metadata, "spec": template["spec"]}


def _owners(set_: Set, pod: Meta) -> list[Tree]:
    """That the policy gives to a claim of the pod: the set or, once the pod has no place, the pod."""
    policy = set_.retention
    if policy.when_scaled == DELETE and not set_.has_place(ordinal_of_name(pod.name)):
        return [owner_reference(PODS, pod)]
    return [set_.owner_reference()] if policy.when_deleted == DELETE else []


def _is_owned_as_said(claim: Claim, set_: Set, pod: Meta) -> bool:
    """Claims of an earlier set or pod of the name are left to the garbage collector, and others' are theirs."""
    if _is_of_another(claim, STATEFULSETS, set_.metadata) or _is_of_another(claim, PODS, pod):
        return True
    ours = [each for each in claim.metadata.owner_references if each.uid in (set_.metadata.uid, pod.uid)]
    if _is_of_others(claim, set_, pod):
        return not ours
    wanted = {each["uid"] for each in _owners(set_, pod)}
    return all(each.controller for each in ours) and {each.uid for each in ours} == wanted


def _is_of_others(claim: Claim, set_: Set, pod: Meta) -> bool:
    """Whether somebody else controls the claim, which matters where the policy has a say."""
    if DELETE not in (set_.retention.when_scaled, set_.retention.when_deleted):
        return False
    for owner in claim.metadata.owner_references:
        if _names(owner, STATEFULSETS, set_.metadata):
            foreign = owner.uid != set_.metadata.uid
        elif _names(owner, PODS, pod):
            foreign = owner.uid != pod.uid
        else:
            foreign = owner.controller
        if foreign:
            return True
    return False


def _is_of_another(claim: Claim, resource: Resource, item: Meta) -> bool:
    """Whether the claim is owned by something of the same name that is not this one."""
    owner = next((each for each in claim.metadata.owner_references if _names(each, resource, item)), None)
    return owner is not None and owner.uid != item.uid


def _names(owner: OwnerReference, resource: Resource, item: Meta) -> bool:
    return (owner.api_version, owner.kind, owner.name) == (resource.api_version, resource.kind, item.name)


def _names_any(owner: Tree, set_: Set, pod: Meta) -> bool:
    named = owner["apiVersion"], owner["kind"], owner["name"]
    ours = (STATEFULSETS, set_.metadata), (PODS, pod)
    return any(named == (resource.api_version, resource.kind, meta.name) for resource, meta in ours)
