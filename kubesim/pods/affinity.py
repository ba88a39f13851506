"""Whether a pod may be on a node beside the pods that are there: required affinity and anti-affinity to other pods.

The rules are those of kube-scheduler's InterPodAffinity. Affinity holds where pods are that match all terms of the pod
at once; where there is no such pod anywhere and the pod matches its own terms, it is the first of its kind and may be
on any node that has the labels. Anti-affinity counts both ways: what the pod says, and what pods on nodes say of it.
Preferences do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from kubeloop.objects.meta import LabelSelector

Domain = tuple[str, str]
"""A label of nodes and its value: all nodes that have it are one place."""
Labels = dict[str, str]

NOT_BESIDE_WANTED = "node(s) didn't match pod affinity rules"
BESIDE_UNWANTED = "node(s) didn't match pod anti-affinity rules"
UNWANTED_THERE = "node(s) didn't satisfy existing pods anti-affinity rules"

_NONE: Labels = {}


class PodTerm(Struct, frozen=True, rename="camel"):
    """Pods by their labels and namespaces, and the label of nodes by which places are told apart.

    What `matchLabelKeys` and `mismatchLabelKeys` mean is in the selector: the API server writes it there.
    """

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None

    def selects(self, labels: Labels) -> bool:
        """No selector selects nothing, an empty one everything."""
        return self.label_selector is not None and self.label_selector.matches(labels)

    def covers(self, namespace: str, home: str, namespaces: Mapping[str, Labels]) -> bool:
        """Whether it is about pods of the namespace; `home` is that of the pod whose term it is."""
        if self.namespace_selector is None:
            return namespace in self.namespaces if self.namespaces else namespace == home
        return namespace in self.namespaces or self.namespace_selector.matches(namespaces.get(namespace, _NONE))


class PodTerms(Struct, frozen=True, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}):
    required: tuple[PodTerm, ...] = ()


class Sociable(Struct, frozen=True):
    """A pod as others see it, and what it says of them."""

    namespace: str
    labels: Labels
    together: tuple[PodTerm, ...] = ()
    apart: tuple[PodTerm, ...] = ()

    @property
    def selects_namespaces(self) -> bool:
        return any(term.namespace_selector is not None for term in (*self.together, *self.apart))

    def looks_into(self, namespaces: Iterable[str]) -> Iterable[str]:
        """Which of these its terms may be about."""
        if self.selects_namespaces:
            return namespaces
        named = {name for term in (*self.together, *self.apart) for name in term.namespaces or (self.namespace,)}
        return [name for name in namespaces if name in named]

    def means(self, term: PodTerm, other: Sociable, namespaces: Mapping[str, Labels]) -> bool:
        """Whether this term of the pod is about the other."""
        return term.selects(other.labels) and term.covers(other.namespace, self.namespace, namespaces)

    def wants(self, other: Sociable, namespaces: Mapping[str, Labels]) -> bool:
        """Whether the other is what all terms of its affinity are about."""
        return bool(self.together) and all(self.means(term, other, namespaces) for term in self.together)

    def may_care_about(self, other: Sociable) -> bool:
        """Whether it may make a difference where the other is, or that it is; namespaces are not looked at."""
        return (
            any(term.selects(other.labels) for term in self.apart)
            or any(term.selects(self.labels) for term in other.apart)
            or (bool(self.together) and all(term.selects(other.labels) for term in self.together))
        )


class Surroundings(Struct, frozen=True):
    """What the pods that have nodes mean for one that has none."""

    together: tuple[str, ...]
    """Labels that a node must have, by the pod's affinity."""
    wanted: frozenset[Domain]
    """Places where pods are that match all terms of its affinity."""
    is_first: bool
    """There are none such, and it would be one itself."""
    unwanted: frozenset[Domain]
    """Places where pods are that it must not be beside."""
    closed: frozenset[Domain]
    """Places of pods that it must not be beside for their sake."""

    def against(self, node: Labels) -> str:
        """Why the pod must not be on a node with these labels; empty where it may."""
        if any(key not in node for key in self.together):
            return NOT_BESIDE_WANTED
        if not self.is_first and any((key, node[key]) not in self.wanted for key in self.together):
            return NOT_BESIDE_WANTED
        if not self.unwanted.isdisjoint(node.items()):
            return BESIDE_UNWANTED
        return "" if self.closed.isdisjoint(node.items()) else UNWANTED_THERE


def surroundings(
    pod: Sociable,
    placed: Iterable[tuple[Sociable, Labels]],
    wary: Iterable[tuple[Sociable, Labels]],
    namespaces: Mapping[str, Labels],
) -> Surroundings | None:
    """What `placed` pods and `wary` ones, those with anti-affinity of their own, mean; both with their nodes' labels.

    None where they mean nothing: the pod has no terms, and none is about it.
    """
    wanted: set[Domain] = set()
    unwanted: set[Domain] = set()
    for other, node in placed if pod.together or pod.apart else ():
        if pod.wants(other, namespaces):
            wanted.update(_domains(pod.together, node))
        unwanted.update(_domains((term for term in pod.apart if pod.means(term, other, namespaces)), node))
    closed: set[Domain] = set()
    for other, node in wary:
        closed.update(_domains((term for term in other.apart if other.means(term, pod, namespaces)), node))
    if not (pod.together or pod.apart or closed):
        return None
    return Surroundings(
        together=tuple(term.topology_key for term in pod.together),
        wanted=frozenset(wanted),
        is_first=not wanted and pod.wants(pod, namespaces),
        unwanted=frozenset(unwanted),
        closed=frozenset(closed),
    )


def _domains(terms: Iterable[PodTerm], node: Labels) -> Iterable[Domain]:
    """A node without the label is in none."""
    for term in terms:
        value = node.get(term.topology_key)
        if value is not None:
            yield term.topology_key, value
