"""The objects that an Application becomes: Components that it shares, and an ApplicationConfiguration of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

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
    for part, live in parts:
        if live is None:
            body = {
                "apiVersion": COMPONENTS.api_version,
                "kind": COMPONENTS.kind,
                "metadata": {"name": part.name, "namespace": seen.namespace, "ownerReferences": [seen.as_owner()]},
                "spec": part.component_spec,
            }
            yield created(COMPONENTS, seen.namespace, body, Does.APPLY_OBJECT, scope=seen.uid)
            continue
        body = {} if owners_only else _changed(live, part)
        if not any(each.get("uid") == seen.uid for each in live.owners):
            body["metadata"] = {"ownerReferences": [*live.owners, seen.as_owner()]}
        if body:
            yield patched(live, body, Does.APPLY_OBJECT, ("", f"Component {part.name}"), scope=seen.uid)


def _changed(live: Tree, part: Rendered) -> Json:
    before = mapping(live.tree.get("spec"))
    change = merge_patch(before, part.component_spec)
    return {"spec": change} if change else {}
