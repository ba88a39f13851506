"""The objects that an Application becomes: Components that it shares, and an ApplicationConfiguration of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import LatestConfiguration
from fairlead.contracts.plans.decide.applications.rendering import Rendered
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.applications.trees import Tree, mapping
from fairlead.contracts.plans.decide.applications.writes import created, patched
from fairlead.contracts.plans.kinds import (
    APPLICATION,
    COMPONENTS,
    CONFIGURATION_HASH,
    CONFIGURATION_ROLLOUT,
    CONFIGURATIONS,
    CREATING,
    ROLLING_COMPONENTS,
    Json,
)
from fairlead.core.act import AnyWrite, Does
from fairlead.core.merge_patch import merge_patch
from kubeloop.go_json import go_json


def hash_of(spec: Json) -> str:
    """Of the spec of a configuration: equal for specs that mean the same."""
    return sha256(go_json(spec)).hexdigest()[:16]


def configuration_spec(parts: Sequence[Rendered], revisions: Mapping[str, str]) -> Json:
    """U-1: it names revisions only."""
    components = []
    for part in parts:
        component: Json = {"revisionName": revisions[part.name]}
        if part.traits:
            component["traits"] = [{"trait": each.tree} for each in part.traits]
        components.append(component)
    return {"components": components}


def configuration_body(seen: FamilySeen, latest: LatestConfiguration, spec: Json) -> Json:
    """What a rollout asks for is passed on; a configuration that follows another says that it takes over from it."""
    annotations = {key: seen.annotations[key] for key in (CREATING, ROLLING_COMPONENTS) if key in seen.annotations}
    if CREATING not in annotations:
        annotations.pop(ROLLING_COMPONENTS, None)
    if latest.revision > 1:
        annotations[CONFIGURATION_ROLLOUT] = "true"
    return {
        "apiVersion": CONFIGURATIONS.api_version,
        "kind": CONFIGURATIONS.kind,
        "metadata": {
            "name": latest.name,
            "namespace": seen.namespace,
            "labels": {APPLICATION: seen.name, CONFIGURATION_HASH: latest.revision_hash},
            "annotations": annotations,
            "ownerReferences": [seen.as_owner(controls=True)],
        },
        "spec": spec,
    }


def component_writes(
    seen: FamilySeen, parts: Iterable[tuple[Rendered, Tree | None]], *, owners_only: bool = False
) -> Iterator[AnyWrite]:
    """Components as the Application describes them, with it among their owners; none of them controls one."""
    sharing = Sharing(seen.namespace, seen.uid, (seen.as_owner(),))
    for part, live in parts:
        spec = mapping(live.tree.get("spec")) if owners_only and live is not None else part.component_spec
        yield from shared(sharing, part.name, spec, live)


class Sharing(Struct, frozen=True):
    """Who writes Components, and for whom."""

    namespace: str
    scope: str
    owners: tuple[Json, ...]


def shared(sharing: Sharing, name: str, spec: Json, live: Tree | None) -> Iterator[AnyWrite]:
    """A Component with this spec, and with all of these among its owners."""
    if live is None:
        metadata: Json = {"name": name, "namespace": sharing.namespace, "ownerReferences": [*sharing.owners]}
        new = {"apiVersion": COMPONENTS.api_version, "kind": COMPONENTS.kind, "metadata": metadata, "spec": spec}
        yield created(COMPONENTS, sharing.namespace, new, Does.APPLY_OBJECT, scope=sharing.scope)
        return
    known = {each.get("uid") for each in live.owners}
    change = merge_patch(mapping(live.tree.get("spec")), spec)
    body: Json = {"spec": change} if change else {}
    if added := [each for each in sharing.owners if each.get("uid") not in known]:
        body["metadata"] = {"ownerReferences": [*live.owners, *added]}
    if body:
        yield patched(live, body, Does.APPLY_OBJECT, ("", f"Component {name}"), scope=sharing.scope)
