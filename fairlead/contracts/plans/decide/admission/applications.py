"""Whether an Application (section 2.8 and A-4) or an ApplicationConfiguration may be as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.plans.decide.applications import conflicts
from fairlead.contracts.plans.decide.applications.asking import Flow, read_all
from fairlead.contracts.plans.decide.applications.definitions import all_traits
from fairlead.contracts.plans.decide.applications.trees import Tree, mapping
from fairlead.contracts.plans.kinds import COMPONENTS, ROLLOUT_TEMPLATE, Json
from fairlead.core.field_errors import forbidden, invalid, required
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.meta import Ref

TEMPLATE = f"metadata.annotations[{ROLLOUT_TEMPLATE}]"
ADDED = "cannot add a rollout annotation on an existing application"


def marked_anew(new: Json, old: Json | None) -> Iterator[str]:
    """A-4: an Application that its controller works on cannot be taken away from it."""
    if old is not None and _is_template(new) and not _is_template(old):
        yield forbidden(TEMPLATE, ADDED)


def application_refusals(new: Json) -> Iterator[str]:
    """Names of components are unique."""
    seen: set[str] = set()
    for place, component in enumerate(_components(new)):
        path = f"spec.components[{place}].name"
        name = component.get("name")
        if not isinstance(name, str) or not name:
            yield required(path)
        elif name in seen:
            yield invalid(path, name, "must not be the name of two components")
        else:
            seen.add(name)


def configuration_refusals(new: Json, namespace: str, system: str) -> Flow[tuple[str, ...]]:
    """Each component is named by itself or by a revision, and its traits go together (D-11)."""
    wrong = (*_named_twice(new), *(yield from _conflicting(new, namespace, system)))
    return wrong


def _named_twice(new: Json) -> Iterator[str]:
    for place, component in enumerate(_components(new)):
        path = f"spec.components[{place}]"
        name, revision = component.get("componentName"), component.get("revisionName")
        if name and revision:
            yield forbidden(f"{path}.revisionName", f"may not be given together with componentName, which is {name}")
        elif not name and not revision:
            yield required(f"{path}.componentName", "name the component, or a revision of it in revisionName")


def _conflicting(new: Json, namespace: str, system: str) -> Flow[tuple[str, ...]]:
    """A component that is not there yet is judged by its traits alone."""
    components = _components(new)
    traits = {place: trees for place, component in enumerate(components) if (trees := _traits(component))}
    if not traits:
        return ()
    known = yield from all_traits(namespace, system)
    refs = {place: _ref(components[place], namespace) for place in traits}
    found = yield from read_all(dict.fromkeys(refs.values()))
    by_ref = dict(zip(dict.fromkeys(refs.values()), found, strict=True))
    wrong = []
    for place, trees in traits.items():
        presents = [each for tree in trees if (each := conflicts.present(tree, known)) is not None]
        workload = _workload(by_ref[refs[place]])
        if told := conflicts.refusal(refs[place].name, presents, workload):
            wrong.append(forbidden(f"spec.components[{place}].traits", told))
    return tuple(wrong)


def _traits(component: Json) -> list[Json]:
    """None of a component without a name, which is refused for that."""
    is_named = component.get("componentName") or component.get("revisionName")
    entries = component.get("traits") if is_named else None
    return [mapping(mapping(each).get("trait")) for each in entries] if isinstance(entries, list) else []


def _ref(component: Json, namespace: str) -> Ref:
    revision = component.get("revisionName")
    if revision:
        return Ref(CONTROLLER_REVISIONS, namespace, str(revision))
    return Ref(COMPONENTS, namespace, str(component.get("componentName")))


def _workload(found: Tree | None) -> Json | None:
    """Of a Component, or of the snapshot of one that a revision holds."""
    if found is None:
        return None
    tree = found.tree if found.resource == COMPONENTS else mapping(found.tree.get("data"))
    return mapping(mapping(tree.get("spec")).get("workload")) or None


def _is_template(application: Json) -> bool:
    metadata: Any = application.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(ROLLOUT_TEMPLATE) == "true"


def _components(tree: Json) -> list[Json]:
    spec = tree.get("spec")
    components = spec.get("components") if isinstance(spec, dict) else None
    return [each if isinstance(each, dict) else {} for each in components] if isinstance(components, list) else []
