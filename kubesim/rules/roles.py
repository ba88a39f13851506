"""Roles and bindings as objects: how they read, their defaults and their rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct, field

from kubesim.errors import Cause, bad_request, required, unsupported, wrong
from kubesim.store.versions import Tree

RBAC = "rbac.authorization.k8s.io"

KINDS = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
_ACCOUNT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_ACCOUNT_NAME_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


class PolicyRule(Struct, frozen=True, rename="camel"):
    """A line of a role; it is about resources or about other paths, never both."""

    verbs: tuple[str, ...] | None = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    urls: tuple[str, ...] = field(default=(), name="nonResourceURLs")


class Role(Struct, frozen=True):
    rules: tuple[PolicyRule, ...] | None = ()


class Subject(Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    api_group: str = ""


class RoleRef(Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    api_group: str = ""


class Binding(Struct, frozen=True, rename="camel"):
    role_ref: RoleRef = RoleRef()
    subjects: tuple[Subject, ...] = ()


def fill(tree: Tree) -> None:
    """Fills in the groups that a binding may leave out; 400 for an object of another shape."""
    kind = tree["kind"]
    try:
        msgspec.convert(tree, Role if kind in ("Role", "ClusterRole") else Binding)
    except msgspec.ValidationError as error:
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None
    if kind in ("Role", "ClusterRole"):
        return
    reference = tree.setdefault("roleRef", {})
    reference["apiGroup"] = reference.get("apiGroup") or RBAC
    for subject in tree.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = RBAC


def broken(tree: Tree) -> list[Cause]:
    """Broken rules of a role or binding, defaults filled in."""
    namespaced = tree["kind"] in ("Role", "RoleBinding")
    if tree["kind"] in ("Role", "ClusterRole"):
        role = msgspec.convert(tree, Role)
        rules = enumerate(role.rules or ())
        return [cause for index, rule in rules for cause in _rule(rule, namespaced, f"rules[{index}]")]
    binding = msgspec.convert(tree, Binding)
    causes = list(_reference(binding.role_ref, namespaced))
    for index, subject in enumerate(binding.subjects):
        causes += _subject(subject, namespaced, f"subjects[{index}]")
    return causes


def changed(old: Tree, new: Tree) -> list[Cause]:
    """What an update may not change: a binding is bound to its role for good."""
    before, after = old.get("roleRef"), new.get("roleRef")
    if before == after or after is None:
        return []
    shown = {name: after.get(key, "") for name, key in (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))}
    return [wrong("roleRef", shown, "cannot change roleRef")]


def _rule(rule: PolicyRule, namespaced: bool, path: str) -> Iterator[Cause]:
    if not rule.verbs:
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    if rule.urls:
        urls = list(rule.urls)
        if namespaced:
            yield wrong(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.api_groups or rule.resources or rule.resource_names:
            text = "rules cannot apply to both regular resources and non-resource URLs"
            yield wrong(f"{path}.nonResourceURLs", urls, text)
        return
    if not rule.api_groups:
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.resources:
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def _reference(reference: RoleRef, namespaced: bool) -> Iterator[Cause]:
    if reference.api_group != RBAC:
        yield unsupported("roleRef.apiGroup", reference.api_group, (RBAC,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if reference.kind not in kinds:
        yield unsupported("roleRef.kind", reference.kind, kinds)
    if not reference.name:
        yield required("roleRef.name")
    else:
        yield from (wrong("roleRef.name", reference.name, text) for text in segment_troubles(reference.name))


def _subject(subject: Subject, namespaced: bool, path: str) -> Iterator[Cause]:
    if not subject.name:
        yield required(f"{path}.name")
    match subject.kind:
        case "ServiceAccount":
            if subject.name and not _ACCOUNT_NAME.fullmatch(subject.name):
                yield wrong(f"{path}.name", subject.name, _ACCOUNT_NAME_TEXT)
            if subject.api_group:
                yield unsupported(f"{path}.apiGroup", subject.api_group, ("",))
            if not namespaced and not subject.namespace:
                yield required(f"{path}.namespace")
        case "User" | "Group":
            if subject.api_group != RBAC:
                yield unsupported(f"{path}.apiGroup", subject.api_group, (RBAC,))
        case _:
            yield unsupported(f"{path}.kind", subject.kind, ("ServiceAccount", "User", "Group"))


def segment_troubles(name: str) -> list[str]:
    """Why a name cannot be a part of a path; names of roles need be nothing else."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in name]
