"""Snapshots of an Application (P-1 to P-3): ApplicationRevisions `<app>-v<N>` with all that it is rendered from.

The number is stored before its snapshot is made, so that whoever dies in between is healed by making it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import (
    ApplicationSpec,
    AppRevisionNames,
    AppRolloutSpec,
    LatestConfiguration,
)
from fairlead.contracts.plans.decide.applications import definitions
from fairlead.contracts.plans.decide.applications.asking import Flow, list_all, resources
from fairlead.contracts.plans.decide.applications.built_in import RenderFault
from fairlead.contracts.plans.decide.applications.configuration_family import configuration_name, number_of
from fairlead.contracts.plans.decide.applications.configuration_writes import hash_of
from fairlead.contracts.plans.decide.applications.definitions import DefinitionTrees
from fairlead.contracts.plans.decide.applications.rendering import Rendered, rendered
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping
from fairlead.contracts.plans.decide.applications.writes import created, deleted
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION,
    APPLICATION_REVISION_HASH,
    APPLICATION_REVISIONS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    Json,
    WorkloadReference,
)
from fairlead.core.act import AnyWrite, Does

_PLAN = "rolloutPlan"
"""How an Application is rolled is no part of what it is."""
_KIND = WorkloadReference(APPLICATION_REVISIONS.api_version, APPLICATION_REVISIONS.kind)


class Snapshot(Struct, frozen=True):
    """What is to be done about it, one thing at a time."""

    latest: LatestConfiguration | None = None
    """The number that is stored first; None where it is."""
    writes: tuple[AnyWrite, ...] = ()
    problem: str = ""
    """Why the Application cannot be kept as it is."""
    name: str = ""
    """Of the snapshot that is there; empty where the cluster does not have the kind."""


def snapshot(seen: FamilySeen, spec: ApplicationSpec, recorded: LatestConfiguration | None) -> Flow[Snapshot]:
    """`recorded` is what the status of the Application says of its latest revision."""
    if not (yield from resources((_KIND,))):
        return Snapshot()
    trees = yield from definitions.trees_of(
        (each.type for each in spec.components),
        (trait.name for each in spec.components for trait in each.traits),
        seen.namespace,
        seen.settings.system_namespace,
    )
    parts = rendered(spec, definitions.read_trees(trees))
    if isinstance(parts, RenderFault):
        return Snapshot(problem=parts.text)
    body, digest = _content(seen, parts, trees), _digest(seen, trees)
    found = yield from list_all(APPLICATION_REVISIONS, seen.namespace, f"{APPLICATION}={seen.name}")
    kept = sorted((each for each in found if _is_ours(seen, each)), key=lambda each: number_of(each.name))
    if kept and _holds(kept[-1], body, digest):
        surplus = yield from _surplus(seen, kept)
        return Snapshot(writes=surplus, name=kept[-1].name)
    wanted = _numbered(seen, kept, recorded, digest)
    if wanted != recorded:
        return Snapshot(latest=wanted)
    made = {
        "apiVersion": APPLICATION_REVISIONS.api_version,
        "kind": APPLICATION_REVISIONS.kind,
        "metadata": {
            "name": wanted.name,
            "namespace": seen.namespace,
            "labels": {APPLICATION: seen.name, APPLICATION_REVISION_HASH: digest},
            "ownerReferences": [seen.as_owner(controls=True)],
        },
        "spec": body,
    }
    write = created(APPLICATION_REVISIONS, seen.namespace, made, Does.RECORD_REVISION, scope=seen.uid)
    return Snapshot(writes=(write,), name=wanted.name)


def _numbered(
    seen: FamilySeen, kept: Sequence[Tree], recorded: LatestConfiguration | None, digest: str
) -> LatestConfiguration:
    """The recorded number where its snapshot is yet to be made, else the next one."""
    taken = number_of(kept[-1].name) if kept else 0
    if recorded is not None and recorded.revision > taken and recorded.revision_hash == digest:
        return recorded
    number = max(taken, 0 if recorded is None else recorded.revision) + 1
    return LatestConfiguration(configuration_name(seen.name, number), number, digest)


def _holds(revision: Tree, body: Json, digest: str) -> bool:
    """Equal specs, whatever the hash says; metadata of the Application is not part of it."""
    if revision.labels.get(APPLICATION_REVISION_HASH) != digest:
        return False
    return _compared(mapping(revision.tree.get("spec"))) == _compared(body)


def _compared(body: Json) -> object:
    named = ("workloadDefinitions", "traitDefinitions")
    found = {key: {name: at(tree, "spec") for name, tree in mapping(body.get(key)).items()} for key in named}
    return _rolled(mapping(at(body, "application.spec"))), found


def _digest(seen: FamilySeen, trees: DefinitionTrees) -> str:
    return hash_of(
        {
            "application": _rolled(mapping(seen.object.spec)),
            "workloadDefinitions": {name: each.tree.get("spec") for name, each in trees.workloads.items()},
            "traitDefinitions": {name: each.tree.get("spec") for name, each in trees.traits.items()},
        }
    )


def _rolled(spec: Json) -> Json:
    return {key: value for key, value in spec.items() if key != _PLAN}


def _content(seen: FamilySeen, parts: tuple[Rendered, ...], trees: DefinitionTrees) -> Json:
    named = {"name": seen.name, "namespace": seen.namespace}
    application = {**_typed(APPLICATIONS.api_version, APPLICATIONS.kind, named), "spec": seen.object.spec}
    components = [
        {
            "raw": {
                **_typed(COMPONENTS.api_version, COMPONENTS.kind, {"name": each.name, "namespace": seen.namespace}),
                "spec": each.component_spec,
            }
        }
        for each in parts
    ]
    configured: list[Json] = []
    for each in parts:
        traits = [{"trait": one.tree} for one in each.traits]
        configured.append({"componentName": each.name, **({"traits": traits} if traits else {})})
    return {
        "application": application,
        "workloadDefinitions": _kept(trees.workloads),
        "traitDefinitions": _kept(trees.traits),
        "components": components,
        "applicationConfiguration": {
            **_typed(CONFIGURATIONS.api_version, CONFIGURATIONS.kind, named),
            "spec": {"components": configured},
        },
    }


def _kept(trees: Mapping[str, Tree]) -> Json:
    return {
        name: {
            **_typed(each.resource.api_version, each.resource.kind, {"name": name, "namespace": each.namespace}),
            "spec": each.tree.get("spec"),
        }
        for name, each in trees.items()
    }


def _typed(api_version: str, kind: str, metadata: Json) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _is_ours(seen: FamilySeen, revision: Tree) -> bool:
    """One of an Application of this name that is gone goes with it."""
    return (revision.controller or {}).get("uid") == seen.uid and not revision.is_leaving


def _surplus(seen: FamilySeen, kept: Sequence[Tree]) -> Flow[tuple[AnyWrite, ...]]:
    """P-3: the oldest above the limit that no AppRollout names; the latest stays."""
    over = len(kept) - 1 - max(0, seen.settings.application_revision_limit)
    if over <= 0:
        return ()
    used = {name for each in (yield from list_all(APP_ROLLOUTS, seen.namespace)) for name in _rolled_names(each)}
    unused = [each for each in kept[:-1] if each.name not in used]
    return tuple(deleted(each, Does.FORGET_REVISION, scope=seen.uid) for each in unused[:over])


def _rolled_names(rollout: Tree) -> Iterator[str]:
    spec, _ = read(AppRolloutSpec, rollout.tree.get("spec"), "spec")
    names, _ = read(AppRevisionNames, rollout.tree.get("status"), "status")
    yield from (spec.target_app_revision_name, spec.source_app_revision_name)
    yield from (names.last_target_app_revision, names.last_source_app_revision)
