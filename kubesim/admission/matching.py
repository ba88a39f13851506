"""Which requests a webhook or policy is about: rules, also for other versions of the same objects, and selectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeloop.objects.meta import LabelSelector
from kubesim.errors import not_found
from kubesim.kinds.registry import NAMESPACES, Kind, Registry
from kubesim.rules.webhook_configurations import WebhookRule
from kubesim.store.store import Store
from kubesim.store.versions import Tree
from kubesim.writes.asking import Question


class Matching:
    """Compares questions with rules and selectors."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    def kind(self, rules: Sequence[WebhookRule], policy: str, question: Question) -> Kind | None:
        """The kind, or an equivalent one where the policy says so, that a rule names; earlier rules go first."""
        about = question.operation, question.subresource, question.namespace
        for rule in rules:
            if rule.matches(about[0], question.kind.resource, *about[1:]) and rule.names(question.name):
                return question.kind
        # All versions of a resource have its name, so that other kinds need not be looked for in vain.
        plural = question.kind.resource.plural
        likely = [rule for rule in rules if rule.mentions(question.operation, plural, question.subresource)]
        if policy != "Equivalent" or not likely:
            return None
        others = list(self._equivalents(question.kind))
        for rule in likely:
            for kind in others:
                if rule.matches(about[0], kind.resource, *about[1:]) and rule.names(question.name):
                    return kind
        return None

    def _equivalents(self, kind: Kind) -> Iterator[Kind]:
        for group, versions in self._registry.versions().items():
            for version in versions:
                for other in self._registry.served(group, version):
                    if other.resource != kind.resource and other.storage == kind.storage:
                        yield other

    def in_namespace(self, selector: LabelSelector, question: Question, changed: Tree | None) -> bool:
        """Whether the namespace of the request has the labels; what lies in none is always meant."""
        resource = question.kind.resource
        if not question.namespace and resource.plural != NAMESPACES.plural:
            return True
        if is_empty(selector):
            return True
        if resource == NAMESPACES and not question.subresource and changed is not None:
            return selector.matches(changed["metadata"].get("labels") or {})
        return selector.matches(self.namespace(question.namespace)[1])

    def namespace(self, name: str) -> tuple[Tree, dict[str, str]]:
        """A namespace and its labels; 404 when it is not there."""
        found = self._store.table(NAMESPACES).live.get(("", name))
        if found is None:
            raise not_found(NAMESPACES, name)
        return found.tree(), found.head.labels


def is_empty(selector: LabelSelector) -> bool:
    return not selector.match_labels and not selector.match_expressions


def is_labelled(selector: LabelSelector, question: Question, changed: Tree | None) -> bool:
    """Whether the object, as it is or as it was, has the labels."""
    if is_empty(selector):
        return True
    trees = [tree for tree in (changed, question.old) if tree is not None]
    return any(selector.matches((tree.get("metadata") or {}).get("labels") or {}) for tree in trees)
