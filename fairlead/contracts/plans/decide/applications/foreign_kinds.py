"""Kinds of applications that a newer release defined (section 2.16): they are left to whoever serves them."""

from __future__ import annotations

from datetime import datetime, timedelta

from fairlead.contracts.plans.decide.applications.asking import Flow, read_kept
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping
from fairlead.contracts.plans.kinds import APPLICATIONS, COMPONENTS, CONFIGURATIONS
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref, Resource

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
AGAIN = timedelta(minutes=1)
_FAMILY = (APPLICATIONS, COMPONENTS, CONFIGURATIONS)


def foreign_kind() -> Flow[str]:
    """Why Applications are not this operator's; empty where they are."""
    found = yield from read_kept(Ref(DEFINITIONS, "", f"{each.plural}.{each.group}") for each in _FAMILY)
    for resource, tree in zip(_FAMILY, found, strict=True):
        if unknown := _unknown(resource, tree):
            return (
                f"the definition of {resource.plural}.{resource.group} has the version {unknown}, which this operator "
                "does not know: Applications are left to whoever serves it"
            )
    return ""


def _unknown(resource: Resource, definition: Tree | None) -> str:
    versions = at({} if definition is None else definition.tree, "spec.versions")
    names = [str(mapping(each).get("name")) for each in versions] if isinstance(versions, list) else []
    return next((each for each in names if each != resource.version), "")


def left_alone(seen: FamilySeen, said: str, now: datetime) -> Decision:
    return Decision("left_alone", Hold(Reason.APPLICATION_PENDING, now + AGAIN, ((str(seen.ref), said),)))
