"""Which requests a webhook or policy is about: rules, also for other versions of the same objects, and selectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kubeloop.objects.meta import LabelSelector
from kubesim.errors import not_found
from kubesim.kinds.registry import NAMESPACES, Kind, Registry
from kubesim.rules.webhook_configurations import WebhookRule
from kubesim.store.store import Store
from kubesim.store.versions import Tree
from kubesim.writes.asking import Question


class Requested(Protocol):
    """What rules look at of a request."""

    @property
    def operation(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def subresource(self) -> str: ...

    @property
    def namespace(self) -> str: ...


class Matching:
    """Compares questions with rules and selectors."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._spaces = store.table(NAMESPACES).live
        self._registry = registry

    def kind(self, rules: Sequence[WebhookRule], policy: str, asked: Requested, name: str | None) -> Kind | None:
        """The kind, or an equivalent one where the policy says so, that a rule names; earlier rules go first.

        Without a name rules count whatever names they are limited to.
        """
        rules = rules if name is None else [rule for rule in rules if rule.names(name)]
        about = asked.operation, asked.subresource, asked.namespace
        if any(rule.matches(about[0], asked.kind.resource, *about[1:]) for rule in rules):
            return asked.kind
        # All versions of a resource have its name, so that other kinds need not be looked for in vain.
        plural = asked.kind.resource.plural
        likely = [rule for rule in rules if rule.mentions(asked.operation, plural, asked.subresource)]
        if policy != "Equivalent" or not likely:
            return None
        others = list(self._equivalents(asked.kind))
        for rule in likely:
            for kind in others:
                if rule.matches(about[0], kind.resource, *about[1:]):
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

    def may_be_in_namespace(self, selector: LabelSelector, asked: Requested) -> bool:
        """Whether some request of this sort is in a namespace with the labels, as far as the namespace tells."""
        found = self._spaces.get(("", asked.namespace))
        if found is None or asked.kind.resource.plural == NAMESPACES.plural:
            return True
        return is_empty(selector) or selector.matches(found.head.labels)

    def namespace(self, name: str) -> tuple[Tree, dict[str, str]]:
        """A namespace and its labels; 404 when it is not there."""
        found = self._spaces.get(("", name))
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
