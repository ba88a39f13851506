"""Who may have to be asked about a request: webhooks and policies by operation, resource and namespace.

Most requests concern nobody, and are then carried out as if there were no configuration at all. Everything that is
known before the object is looked at counts: rules, also for equivalent kinds, and the labels of the namespace. What was
found is kept until a configuration, a policy, a namespace or the served kinds change.
"""

from __future__ import annotations

from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubesim.admission.matching import Matching, Requested
from kubesim.admission.policies_asked import UNJUDGED, Bound, Policies
from kubesim.kinds.registry import (
    ADMISSION,
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    VALIDATING_WEBHOOKS,
    Kind,
    Registry,
)
from kubesim.rules.webhook_configurations import Hook, hooks_of
from kubesim.store.store import Store, Table
from kubesim.store.versions import Version

_EXEMPT = (*UNJUDGED, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""What no webhook is asked about."""


class Sort(Struct, frozen=True):
    """What is known of a request before its object is looked at."""

    operation: str
    kind: Kind
    subresource: str
    namespace: str


class Interest(Struct, frozen=True):
    """A webhook that is about requests of a sort."""

    key: str
    """Its configuration and its place there."""
    hook: Hook
    kind: Kind | None
    """The equivalent kind in which it wants to see the objects; None for that of the request."""


class Concerned(Struct, frozen=True):
    """Everybody who may have something to say about requests of a sort, in the order in which they are asked."""

    mutating: tuple[Interest, ...] = ()
    validating: tuple[Interest, ...] = ()
    policies: tuple[Bound, ...] = ()


_SortKey = tuple[str, Resource, str, str]
_UNKNOWN = Concerned()


class Index:
    """Finds who is concerned by a request."""

    def __init__(self, store: Store, registry: Registry, matching: Matching, policies: Policies) -> None:
        self._registry = registry
        self._matching = matching
        self._policies = policies
        self._mutating, self._validating, self._judging, self._bindings, self._spaces = map(
            store.table,
            (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS, NAMESPACES),
        )
        self._seen: tuple[int, ...] = ()
        """The state that what is known was found in."""
        self._known: dict[_SortKey, Concerned | None] = {}
        self._hooks: dict[int, tuple[Hook, ...]] = {}
        """By the revision of their configuration."""

    @property
    def is_empty(self) -> bool:
        """Whether no request concerns anybody."""
        return not (self._mutating.live or self._validating.live or self._bindings.live)

    def of(self, asked: Requested) -> Concerned | None:
        """Who may be asked about such a request; None for nobody."""
        if self.is_empty:
            return None
        key = asked.operation, asked.kind.resource, asked.subresource, asked.namespace
        known = self._up_to_date()
        if key not in known:
            known[key] = self._found(asked)
        return known[key]

    def concerns(self, operation: str, resource: Resource, subresource: str, namespace: str) -> bool:
        """Whether there is anybody who may be asked about such a request."""
        if self.is_empty:
            return False
        found = self._up_to_date().get((operation, resource, subresource, namespace), _UNKNOWN)
        if found is _UNKNOWN:
            return self.of(Sort(operation, self._registry.kind(resource), subresource, namespace)) is not None
        return found is not None

    def _up_to_date(self) -> dict[_SortKey, Concerned | None]:
        """What is known, if nothing has changed since."""
        seen = (
            self._mutating.changed,
            self._validating.changed,
            self._bindings.changed,
            self._judging.changed,
            self._spaces.changed,
            self._registry.state,
        )
        if seen != self._seen:
            self._known.clear()
            self._seen = seen
        return self._known

    def _found(self, asked: Requested) -> Concerned | None:
        found = Concerned(
            self._interested(self._mutating, asked),
            self._interested(self._validating, asked),
            self._policies.about(asked),
        )
        return found if found.mutating or found.validating or found.policies else None

    def _interested(self, table: Table, asked: Requested) -> tuple[Interest, ...]:
        """Configurations by name, their webhooks in order."""
        if asked.kind.resource.group == ADMISSION and asked.kind.resource.kind in _EXEMPT:
            return ()
        found: list[Interest] = []
        for (_, name), version in sorted(table.live.items(), key=lambda item: item[0]):
            for index, hook in enumerate(self._decoded(version)):
                kind = self._matching.kind(hook.rules, hook.match_policy, asked, None)
                if kind is not None and self._matching.may_be_in_namespace(hook.namespace_selector, asked):
                    found.append(Interest(f"{name}/{index}", hook, None if kind is asked.kind else kind))
        return tuple(found)

    def _decoded(self, configuration: Version) -> tuple[Hook, ...]:
        known = self._hooks.get(configuration.revision)
        if known is None:
            live = {version.revision for table in (self._mutating, self._validating) for version in table.live.values()}
            self._hooks = {revision: hooks for revision, hooks in self._hooks.items() if revision in live}
            known = self._hooks[configuration.revision] = hooks_of(configuration)
        return known
