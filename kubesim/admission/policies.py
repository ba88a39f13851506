"""ValidatingAdmissionPolicies and their bindings: what they say of a request.

A policy counts where a binding names it, once for every parameter that the binding brings. Variables are evaluated
when an expression asks for them, once. What fails to evaluate counts as a denial unless the policy says `Ignore`.
Annotations for the audit log are evaluated, because a failure of theirs denies, and kept nowhere. Where several deny,
the first in the order of names is told; the server has them in no order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import LabelSelector
from kubesim.cel import program as cel
from kubesim.cel.types import Field, Type
from kubesim.errors import StatusError, qualified, quoted
from kubesim.rules.match_conditions import Unmatched, matches, variables
from kubesim.rules.webhook_configurations import Condition, WebhookRule
from kubesim.store.versions import Version
from kubesim.writes.asking import Question

_LONGEST_MESSAGE = 5 * 1024
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_INVALID = 422


class MatchResources(Struct, frozen=True, rename="camel"):
    resource_rules: tuple[WebhookRule, ...] = ()
    exclude_resource_rules: tuple[WebhookRule, ...] = ()
    match_policy: str = "Equivalent"
    namespace_selector: LabelSelector = LabelSelector()
    object_selector: LabelSelector = LabelSelector()


class ParamKind(Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str

    @property
    def shown(self) -> str:
        group, _, version = self.api_version.rpartition("/")
        return f"{group}/{version}, Kind={self.kind}"


class ParamRef(Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    selector: LabelSelector | None = None
    parameter_not_found_action: str = ""


class Validation(Struct, frozen=True, rename="camel"):
    expression: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""


class Annotation(Struct, frozen=True, rename="camel"):
    key: str
    value_expression: str


class PolicySpec(Struct, frozen=True, rename="camel"):
    match_constraints: MatchResources = MatchResources()
    failure_policy: str = "Fail"
    param_kind: ParamKind | None = None
    match_conditions: tuple[Condition, ...] = ()
    variables: tuple[Condition, ...] = ()
    validations: tuple[Validation, ...] = ()
    audit_annotations: tuple[Annotation, ...] = ()


class _BindingSpec(Struct, frozen=True, rename="camel"):
    policy_name: str
    validation_actions: tuple[str, ...] = ()
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None


class _Policy(Struct, frozen=True):
    spec: PolicySpec


class _Binding(Struct, frozen=True):
    spec: _BindingSpec


class Binding(Struct, frozen=True):
    name: str
    spec: _BindingSpec


class Denial(Struct, frozen=True):
    """Why a policy is against a request."""

    message: str
    reason: str = ""


class Policy:
    """One policy, compiled."""

    def __init__(self, version: Version) -> None:
        self.name = version.head.name
        self.spec = msgspec.json.decode(version.body, type=_Policy).spec
        params = self.spec.param_kind is not None
        self._variables: dict[str, cel.Program] = {}
        for each in self.spec.variables:
            known = variables(params=params, composed=self._composed())
            self._variables[each.name] = cel.compiled(each.expression, known)
        composed = self._composed() if self._variables else None
        known = variables(params=params, composed=composed)
        plain = variables(params=params, authorizer=False, composed=composed)
        self._tests = [
            (
                each,
                cel.compiled(each.expression, known),
                cel.compiled(each.message_expression, plain) if each.message_expression.strip() else None,
            )
            for each in self.spec.validations
        ]
        self._notes = [
            (each, cel.compiled(each.value_expression.strip(), known)) for each in self.spec.audit_annotations
        ]

    @property
    def is_lenient(self) -> bool:
        return self.spec.failure_policy == "Ignore"

    def _composed(self) -> Type:
        return Type(
            "kubernetes.variables", fields={key: Field(key, each.type) for key, each in self._variables.items()}
        )

    def judged(self, values: Mapping[str, Any]) -> tuple[list[Denial], list[Denial]]:
        """What the policy has against a request: by its validations, and by failures of its annotations."""
        try:
            if not matches(self.spec.match_conditions, values, self.spec.failure_policy):
                return [], []
        except Unmatched as trouble:
            return [Denial(str(trouble))], []
        seen = {**values, "variables": Variables(self._variables, values)}
        return [found for each in self._tests if (found := self._denied(*each, seen)) is not None], self._noted(seen)

    def _denied(
        self, validation: Validation, test: cel.Program, message: cel.Program | None, values: Mapping[str, Any]
    ) -> Denial | None:
        try:
            if test.evaluate(values) is True:
                return None
        except cel.Failed as failure:
            return None if self.is_lenient else Denial(_failed(validation.expression, failure))
        said = _said(message, values) if message is not None else ""
        text = said or validation.message.strip() or f"failed expression: {validation.expression.strip()}"
        return Denial(text, validation.reason)

    def _noted(self, values: Mapping[str, Any]) -> list[Denial]:
        denials: list[Denial] = []
        for annotation, program in self._notes:
            try:
                program.evaluate(values)
            except cel.Failed as failure:
                if not self.is_lenient:
                    denials.append(Denial(_failed(annotation.value_expression.strip(), failure)))
        return denials


class Variables:
    """The variables of a policy, evaluated when they are asked for."""

    def __init__(self, programs: Mapping[str, cel.Program], values: Mapping[str, Any]) -> None:
        self._programs = programs
        self._values = {**values, "variables": self}
        self._found: dict[str, Any] = {}

    def resolve(self, name: str) -> Any:
        """The value of a variable; raises Failed."""
        if name not in self._found:
            try:
                self._found[name] = self._programs[name].evaluate(self._values)
            except cel.Failed as failure:
                text = f"composited variable {quoted(name)} fails to evaluate: {failure}"
                self._found[name] = cel.Failed(text)
        found = self._found[name]
        if isinstance(found, cel.Failed):
            raise found
        return found


def _failed(expression: str, failure: cel.Failed) -> str:
    return f"expression '{expression}' resulted in error: {failure}"


def _said(program: cel.Program, values: Mapping[str, Any]) -> str:
    """A message that is one line of text, or empty."""
    try:
        said = program.evaluate(values)
    except cel.Failed:
        return ""
    text = said.strip() if isinstance(said, str) else ""
    return "" if "\n" in text or len(text.encode()) > _LONGEST_MESSAGE else text


def binding_of(version: Version) -> Binding:
    return Binding(version.head.name, msgspec.json.decode(version.body, type=_Binding).spec)


def refusal(question: Question, policy: str, binding: str, denial: Denial) -> StatusError:
    """A denial as a client sees it."""
    bound = f" with binding '{binding}'" if binding else ""
    why = f"ValidatingAdmissionPolicy '{policy}'{bound} denied request: {denial.message}"
    metadata = (question.object or {}).get("metadata") or {}
    name = question.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
    resource, reason = question.kind.resource, denial.reason or "Invalid"
    details: dict[str, object] = {"name": name, "group": resource.group, "kind": resource.plural}
    details = {key: value for key, value in details.items() if value} | {"causes": [{"message": why}]}
    message = f"{qualified(resource)} {quoted(name)} is forbidden: {why}"
    return StatusError(_CODES.get(reason, _INVALID), reason, message, details)
