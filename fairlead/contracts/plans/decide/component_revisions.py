"""References to component revisions (T-6): each means the workload that its snapshot describes.

A revision holds what it held when it was made, so an answer about one serves for long.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.contracts.plans.decide.applications.revisions import ComponentRevision, workload_reference
from fairlead.contracts.plans.decide.applications.trees import Tree, decoded
from fairlead.contracts.plans.kinds import WorkloadReference
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
    if not is_revision(reference):
        return reference
    answer = answers.known.get(_question(reference, namespace))
    tree = decoded(answer.value) if isinstance(answer, Good) else None
    if not isinstance(tree, dict):
        return reference
    found = workload_reference(ComponentRevision(Tree(CONTROLLER_REVISIONS, tree)))
    return found if found.kind and found.name else reference


def _question(reference: WorkloadReference, namespace: str) -> Ask:
    return Ask(Read(Ref(CONTROLLER_REVISIONS, namespace, reference.name)), max_age=SERVES)
