"""Whether an Application (section 2.8 and A-4) or an ApplicationConfiguration may be as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.plans.kinds import ROLLOUT_TEMPLATE, Json
from fairlead.core.field_errors import forbidden, invalid, required

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


def configuration_refusals(new: Json) -> Iterator[str]:
    """Each component is named by itself or by a revision."""
    for place, component in enumerate(_components(new)):
        path = f"spec.components[{place}]"
        name, revision = component.get("componentName"), component.get("revisionName")
        if name and revision:
            yield forbidden(f"{path}.revisionName", f"may not be given together with componentName, which is {name}")
        elif not name and not revision:
            yield required(f"{path}.componentName", "name the component, or a revision of it in revisionName")


def _is_template(application: Json) -> bool:
    metadata: Any = application.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(ROLLOUT_TEMPLATE) == "true"


def _components(tree: Json) -> list[Json]:
    spec = tree.get("spec")
    components = spec.get("components") if isinstance(spec, dict) else None
    return [each if isinstance(each, dict) else {} for each in components] if isinstance(components, list) else []
