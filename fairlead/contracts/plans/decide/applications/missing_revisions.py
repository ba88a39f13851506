"""Why a revision that a rollout names is not there: it is yet to be made, or nobody will ever make it."""

from __future__ import annotations

from fairlead.contracts.plans.decide.applications.asking import Flow, read
from fairlead.contracts.plans.decide.applications.configuration_family import number_of
from fairlead.contracts.plans.decide.applications.trees import Tree, at
from fairlead.contracts.plans.kinds import APPLICATIONS, COMPONENTS, REVISION_ONLY, ROLLOUT_TEMPLATE
from kubeloop.objects.meta import Ref


def missing_snapshot(namespace: str, name: str) -> Flow[str]:
    """Of an ApplicationRevision (P-1 and P-2)."""
    shown = f"the ApplicationRevision {name} is not there"
    if not number_of(name):
        return f"{shown}, and none is made under that name: those of an Application are called <application>-v<N>"
    maker = yield from read(Ref(APPLICATIONS, namespace, name.rpartition("-v")[0]))
    if maker is None:
        return f"{shown}, and neither is the Application {name.rpartition('-v')[0]} that it would be made of"
    if said := _passed(maker, name):
        return f"{shown}, {said}"
    if "true" not in (maker.annotations.get(REVISION_ONLY), maker.annotations.get(ROLLOUT_TEMPLATE)):
        return f'{shown}: annotate the {maker.shown} with {REVISION_ONLY}: "true" to have revisions of it'
    return f"{shown}: it is made when its Application changes"


def missing_component_revision(namespace: str, name: str) -> Flow[str]:
    """Of a ControllerRevision (T-1)."""
    shown = f"the ControllerRevision {name} is not there"
    maker = (yield from read(Ref(COMPONENTS, namespace, name.rpartition("-v")[0]))) if number_of(name) else None
    said = "" if maker is None else _passed(maker, name)
    return f"{shown}, {said}" if said else f"{shown}: it is made with its Component"


def _passed(maker: Tree, name: str) -> str:
    """A number is never used twice; that of the latest revision is made again where somebody deleted it."""
    latest = at(maker.tree, "status.latestRevision.revision")
    if not isinstance(latest, int) or number_of(name) >= latest:
        return ""
    return (
        f"and never comes back, because the {maker.shown} is at number {latest}: name another, or apply the "
        f"{maker.resource.kind} as it was then and name the revision that is made of it"
    )
