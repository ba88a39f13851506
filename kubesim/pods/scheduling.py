"""Whether a pod may be on a node: its node selector, its node affinity, and the node's taints that it tolerates.

Only what is required counts; preferences and resources do not. What other pods mean for it is told in `affinity`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from kubeloop.objects.meta import Meta
from kubesim.pods.affinity import PodTerms

NODE_NAME_FIELD = "metadata.name"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""The taint of a cordoned node."""

_EQUAL, _EXISTS = ("", "Equal"), "Exists"


class Taint(Struct, frozen=True, gc=False):
    key: str
    effect: str
    value: str = ""


class NodeSpec(Struct, frozen=True):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class Node(Struct, frozen=True):
    metadata: Meta
    spec: NodeSpec = NodeSpec()

    @property
    def name(self) -> str:
        return self.metadata.name


class Toleration(Struct, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """An empty key or effect stands for all."""
        if (self.effect and self.effect != taint.effect) or (self.key and self.key != taint.key):
            return False
        return self.operator == _EXISTS or (self.operator in _EQUAL and self.value == taint.value)


class Requirement(Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds_for_labels(self, labels: dict[str, str]) -> bool:
        found = labels.get(self.key)
        match self.operator:
            case "In":
                return found in self.values
            case "NotIn":
                return found not in self.values
            case "Exists":
                return found is not None
            case "DoesNotExist":
                return found is None
            case "Gt" | "Lt":
                return self._compares(found)
            case _:
                return False

    def _compares(self, found: str | None) -> bool:
        try:
            here, limit = int(found or ""), int(self.values[0])
        except (ValueError, IndexError):
            return False
        return here > limit if self.operator == "Gt" else here < limit

    def holds_for_name(self, name: str) -> bool:
        """The name is the only field of a node that can be asked for, and by one value only."""
        if len(self.values) != 1:
            return False
        found = name if self.key == NODE_NAME_FIELD else ""
        return (found == self.values[0]) == (self.operator == "In") and self.operator in ("In", "NotIn")


class Term(Struct, frozen=True, rename="camel"):
    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()

    def matches(self, node: Node) -> bool:
        """All requirements must hold; a term without any matches nothing."""
        if not self.match_expressions and not self.match_fields:
            return False
        return all(each.holds_for_labels(node.metadata.labels) for each in self.match_expressions) and all(
            each.holds_for_name(node.name) for each in self.match_fields
        )


class NodeSelector(Struct, frozen=True, rename="camel"):
    node_selector_terms: tuple[Term, ...] = ()


class NodeAffinity(Struct, frozen=True, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}):
    required: NodeSelector | None = None


class Affinity(Struct, frozen=True, rename="camel"):
    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodTerms = PodTerms()
    pod_anti_affinity: PodTerms = PodTerms()

    @property
    def is_about_pods(self) -> bool:
        return bool(self.pod_affinity.required or self.pod_anti_affinity.required)


class Wishes(Struct, frozen=True, rename="camel"):
    """What the spec of a pod says about the nodes that it may be on."""

    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()

    @property
    def named_node(self) -> str:
        """The one node that the spec names, by itself or in its affinity; empty when there is none."""
        if self.node_name:
            return self.node_name
        required = self.affinity.node_affinity.required
        for term in required.node_selector_terms if required is not None else ():
            for field in term.match_fields:
                if field.key == NODE_NAME_FIELD and field.operator == "In":
                    return field.values[0] if len(field.values) == 1 else ""
        return ""

    def attracted_by(self, node: Node) -> bool:
        """Whether node selector and affinity allow the node; of several terms one is enough."""
        labels = node.metadata.labels
        if any(labels.get(key) != value for key, value in self.node_selector.items()):
            return False
        required = self.affinity.node_affinity.required
        return required is None or any(term.matches(node) for term in required.node_selector_terms)

    def bears(self, taints: Iterable[Taint], *effects: str) -> bool:
        """Whether it tolerates all taints of these effects."""
        return all(
            any(each.tolerates(taint) for each in self.tolerations) for taint in taints if taint.effect in effects
        )
