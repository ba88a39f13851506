"""The policies of a cluster about one request: which count, with which parameters, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kubesim.admission.matching import Matching, Requested, is_labelled
from kubesim.admission.policies import Binding, Denial, MatchResources, ParamRef, Policy, binding_of, refusal
from kubesim.admission.reviewing import Asker, View, request_of
from kubesim.admission.values import namespace_seen, values_of
from kubesim.auth.rbac import Access
from kubesim.errors import StatusError
from kubesim.kinds import views
from kubesim.kinds.converting import Answers, answered, shown
from kubesim.kinds.registry import ADMISSION, ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS, NAMESPACES, Kind, Registry
from kubesim.store.store import Store
from kubesim.store.versions import Tree, Version
from kubesim.writes.asking import Question

UNJUDGED = (
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
"""Kinds of the group of admission that no policy is about."""
Bound = tuple[Policy, Sequence[Binding]]
_NO_PARAMS = "no params found for policy binding with `Deny` parameterNotFoundAction"
_NO_NAMESPACE = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
_ODD_NAMESPACE = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"


class _Misconfigured(Exception):
    """A policy or binding that cannot be used; the failure policy says what follows."""


class Policies:
    """Has requests judged by the policies that are bound."""

    def __init__(self, store: Store, registry: Registry, access: Access, matching: Matching) -> None:
        self._store = store
        self._registry = registry
        self._access = access
        self._matching = matching
        self._policies = store.table(ADMISSION_POLICIES).live
        self._bindings = store.table(ADMISSION_POLICY_BINDINGS).live
        self._compiled: dict[int, Policy] = {}
        self._decoded: dict[int, Binding] = {}
        """Both by revision."""

    def about(self, asked: Requested) -> tuple[Bound, ...]:
        """The policies, with their bindings, that may be about some request of this sort; the object decides."""
        if asked.kind.resource.group == ADMISSION and asked.kind.resource.kind in UNJUDGED:
            return ()
        found: list[Bound] = []
        for policy, bindings in self.bound():
            if not self._may_mean(policy.spec.match_constraints, asked):
                continue
            near = tuple(each for each in bindings if self._may_mean(each.spec.match_resources, asked))
            found += [(policy, near)] if near else []
        return tuple(found)

    def _may_mean(self, wanted: MatchResources | None, asked: Requested) -> bool:
        if wanted is None:
            return True
        if not self._matching.may_be_in_namespace(wanted.namespace_selector, asked):
            return False
        excluded = [rule for rule in wanted.exclude_resource_rules if not rule.resource_names]
        if self._matching.kind(excluded, wanted.match_policy, asked, None) is not None:
            return False
        rules = wanted.resource_rules
        return not rules or self._matching.kind(rules, wanted.match_policy, asked, None) is not None

    def bound(self) -> Iterator[tuple[Policy, list[Binding]]]:
        bindings: dict[str, list[Binding]] = {}
        for key in sorted(self._bindings):
            binding = self._binding(self._bindings[key])
            bindings.setdefault(binding.spec.policy_name, []).append(binding)
        for name in sorted(bindings):
            version = self._policies.get(("", name))
            if version is not None:
                yield self._policy(version), bindings[name]

    def _binding(self, version: Version) -> Binding:
        if version.revision not in self._decoded:
            live = {each.revision for each in self._bindings.values()}
            self._decoded = {revision: each for revision, each in self._decoded.items() if revision in live}
            self._decoded[version.revision] = binding_of(version)
        return self._decoded[version.revision]

    def _policy(self, version: Version) -> Policy:
        if version.revision not in self._compiled:
            live = {each.revision for each in self._policies.values()}
            self._compiled = {revision: each for revision, each in self._compiled.items() if revision in live}
            self._compiled[version.revision] = Policy(version)
        return self._compiled[version.revision]

    async def ask(
        self, bound: Iterable[Bound], question: Question, asker: Asker, warnings: list[str], convert: Answers
    ) -> None:
        """Raises the denial that the request meets, if any; adds what is only warned about to the list.

        Nothing but a conversion is waited for.
        """
        refusals: list[StatusError] = []
        for policy, bindings in bound:
            kind = self._kind(policy.spec.match_constraints, question)
            if kind is None:
                continue
            try:
                params = self._params_kind(policy)
            except _Misconfigured as trouble:
                if not policy.is_lenient:
                    denial = Denial(f"failed to configure policy: {trouble}")
                    refusals.append(refusal(question, policy.name, "", denial))
                continue
            values: dict[str, Any] | None = None
            for binding in bindings:
                if binding.spec.match_resources and self._kind(binding.spec.match_resources, question) is None:
                    continue
                try:
                    found = await self._params(params, binding.spec.param_ref, question, convert)
                except _Misconfigured as trouble:
                    if not policy.is_lenient:
                        denial = Denial(f"failed to configure binding: {trouble}")
                        refusals.append(refusal(question, policy.name, binding.name, denial))
                    continue
                if values is None:
                    values = await self._values(kind, question, asker, convert)
                for param in found:
                    given = values if params is None else {**values, "params": param}
                    refusals += _acted(policy, binding, question, given, warnings)
        if refusals:
            raise refusals[0]

    def _kind(self, wanted: MatchResources, question: Question) -> Kind | None:
        """The kind that the policy wants to see; None when the request is none of its business."""
        changed, name, policy = question.object, question.name, wanted.match_policy
        if not self._matching.in_namespace(wanted.namespace_selector, question, changed):
            return None
        if not is_labelled(wanted.object_selector, question, changed):
            return None
        if self._matching.kind(wanted.exclude_resource_rules, policy, question, name) is not None:
            return None
        if not wanted.resource_rules:
            return question.kind
        return self._matching.kind(wanted.resource_rules, policy, question, name)

    async def _values(self, kind: Kind, question: Question, asker: Asker, convert: Answers) -> dict[str, Any]:
        own = question.kind
        if kind is not own:
            trees = [await views.moved(own, kind, tree, convert) for tree in (question.object, question.old)]
            question = replace(question, object=trees[0], old=trees[1])
        shown_as = question.shown if question.shown != own.resource else kind.resource
        request = request_of(View(kind, shown_as), question, asker)
        values = values_of(question, request, self._access)
        if question.namespace and own.resource != NAMESPACES:
            values["namespaceObject"] = namespace_seen(self._matching.namespace(question.namespace)[0])
        return values

    # Parameters

    def _params_kind(self, policy: Policy) -> Kind | None:
        wanted = policy.spec.param_kind
        if wanted is None:
            return None
        group, _, version = wanted.api_version.rpartition("/")
        for kind in self._registry.served(group, version):
            if kind.resource.kind == wanted.kind and not kind.answered:
                return kind
        raise _Misconfigured(f"failed to find resource referenced by paramKind: '{wanted.shown}'")

    async def _params(
        self, kind: Kind | None, ref: ParamRef | None, question: Question, convert: Answers
    ) -> list[Tree | None]:
        """What a binding brings: one nothing where it needs none."""
        if kind is None or ref is None:
            return [None]
        namespace = ""
        if kind.resource.namespaced:
            namespace = ref.namespace or question.namespace
            if not namespace:
                raise _Misconfigured(_NO_NAMESPACE)
        elif ref.namespace:
            raise _Misconfigured(_ODD_NAMESPACE)
        live = self._store.table(kind.storage).live
        if ref.name:
            found = [live[namespace, ref.name]] if (namespace, ref.name) in live else []
        else:
            selected = ref.selector
            found = [
                live[key]
                for key in sorted(live)
                if key[0] == namespace and selected is not None and selected.matches(live[key].head.labels)
            ]
        if not found and ref.parameter_not_found_action == "Deny":
            raise _Misconfigured(_NO_PARAMS)
        return [views.outward(kind, await answered(shown(kind, version), convert)) for version in found]


def _acted(
    policy: Policy, binding: Binding, question: Question, values: dict[str, Any], warnings: list[str]
) -> list[StatusError]:
    """What the binding makes of what the policy found; what is only audited is kept nowhere."""
    denials, failures = policy.judged(values)
    refusals: list[StatusError] = []
    for denial in denials:
        if "Deny" in binding.spec.validation_actions:
            refusals.append(refusal(question, policy.name, binding.name, denial))
        if "Warn" in binding.spec.validation_actions:
            about = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
            warnings.append(f"Validation failed for {about}: {denial.message}")
    return refusals + [refusal(question, policy.name, binding.name, failure) for failure in failures]
