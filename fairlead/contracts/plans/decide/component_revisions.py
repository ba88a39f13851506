"""References to component revisions (T-6): each means the workload that its snapshot describes.

A revision holds what it held when it was made, so an answer about one serves for long.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.contracts.plans.decide.applications.emission import fitting, with_pod_labels
from fairlead.contracts.plans.decide.applications.revisions import ComponentRevision, workload_reference
from fairlead.contracts.plans.decide.applications.trees import Tree, decoded
from fairlead.contracts.plans.decide.workloads.attempt import Before
from fairlead.contracts.plans.decide.workloads.live import Workload, at
from fairlead.contracts.plans.kinds import APPLICATION, COMPONENT, COMPONENT_REVISION, WorkloadReference
from fairlead.core.ask import Answers, Ask, Good, Read
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.meta import Ref

SERVES = 300.0
"""Seconds for which an answer serves."""


def is_revision(reference: WorkloadReference) -> bool:
    return (reference.group, reference.kind) == (CONTROLLER_REVISIONS.group, CONTROLLER_REVISIONS.kind)


def questions(references: Iterable[WorkloadReference], namespace: str) -> tuple[Ask, ...]:
    """About the revisions among them."""
    return tuple(dict.fromkeys(_question(each, namespace) for each in references if is_revision(each) and each.name))


def resolved(reference: WorkloadReference, namespace: str, answers: Answers) -> WorkloadReference:
    """What the reference means; itself where it names a workload, and where nothing is known of the revision."""
    revision = _revision(reference, namespace, answers)
    if revision is None:
        return reference
    found = workload_reference(revision)
    return found if found.kind and found.name else reference


def before(
    target: Workload, sources: Iterable[WorkloadReference], application: str, namespace: str, answers: Answers
) -> Before | None:
    """V-3 and V-4: what the workload was in the first of these revisions that describes it.

    One that takes parameters does not tell what their values were.
    """
    for each in sources:
        revision = _revision(each, namespace, answers)
        if (
            revision is None
            or revision.read.parameters
            or not workload_reference(revision).names_same(target.reference)
        ):
            continue
        labelled = with_pod_labels(revision.workload, revision.component, revision.name)
        template = at(fitting(labelled, target.tree), target.kind.paths.template)
        if isinstance(template, dict):
            labels = {COMPONENT: revision.component, COMPONENT_REVISION: revision.name}
            return Before(revision.name, template, labels | ({APPLICATION: application} if application else {}))
    return None


def _revision(reference: WorkloadReference, namespace: str, answers: Answers) -> ComponentRevision | None:
    if not is_revision(reference):
        return None
    answer = answers.known.get(_question(reference, namespace))
    tree = decoded(answer.value) if isinstance(answer, Good) else None
    return ComponentRevision(Tree(CONTROLLER_REVISIONS, tree)) if isinstance(tree, dict) else None


def _question(reference: WorkloadReference, namespace: str) -> Ask:
    return Ask(Read(Ref(CONTROLLER_REVISIONS, namespace, reference.name)), max_age=SERVES)
