"""Nobody gives rights that they do not have: what is asked of who writes a role or a binding.

Whoever may `escalate` roles, or `bind` the role in question, is not asked. The question comes after the
webhooks that change objects and before the object is checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import msgspec

from kubesim.auth.rbac import Access, Attributes, User, is_under
from kubesim.errors import bad_request, forbidden, internal, not_found
from kubesim.kinds.registry import CLUSTER_ROLES, ROLES, Kind
from kubesim.rules.roles import RBAC, Binding, PolicyRule, Role, RoleRef
from kubesim.store.store import Store
from kubesim.store.versions import Tree
from kubesim.writes.asking import MUTATING, Answer, Question, Write

_COLLECTED = ("ownerReferences", "finalizers", "selfLink", "managedFields")
"""What a garbage collector writes."""
_EVERYTHING = (
    PolicyRule(verbs=("*",), api_groups=("*",), resources=("*",)),
    PolicyRule(verbs=("*",), urls=("*",)),
)


class Escalation:
    """Looks at the roles and bindings that users write."""

    def __init__(self, store: Store, access: Access) -> None:
        self._store = store
        self._access = access

    def guarded(self, write: Write, user: User, kind: Kind, namespace: str, name: str) -> Write:
        """The write, which fails where it would give rights that the user lacks; `name` is that of the path."""
        try:
            asked = next(write)
            while True:
                answer: Answer = yield asked
                if isinstance(asked, Question) and asked.phase == MUTATING:
                    made = answer if isinstance(answer, dict) else asked.object
                    if made is not None and not _is_collecting(asked.old, made):
                        self._look_at(user, kind, (namespace, name), asked.old, made)
                asked = write.send(answer)
        except StopIteration as done:
            result: Tree = done.value
            return result

    def _look_at(self, user: User, kind: Kind, place: tuple[str, str], old: Tree | None, made: Tree) -> None:
        namespace, name = place
        if kind.resource.plural.endswith("bindings"):
            reference = msgspec.convert(made, Binding).role_ref
            if self._may_bind(user, reference, namespace):
                return
            self._holds(user, kind, namespace, made, self._rules_of(kind, reference, namespace))
            return
        escalating = Attributes("escalate", RBAC, kind.resource.plural, namespace=namespace, name=name)
        if self._access.judge(user, escalating).allowed:
            return
        self._holds(user, kind, namespace, made, msgspec.convert(made, Role).rules or ())
        if (_collects(made) or _collects(old)) and self._lacking(user, namespace, _EVERYTHING):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise forbidden(kind.resource, made["metadata"].get("name") or "", why)

    def _may_bind(self, user: User, reference: RoleRef, namespace: str) -> bool:
        plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(reference.kind)
        if plural is None:
            return False
        asked = Attributes("bind", reference.api_group or RBAC, plural, namespace=namespace, name=reference.name)
        return self._access.judge(user, asked).allowed

    def _rules_of(self, kind: Kind, reference: RoleRef, namespace: str) -> tuple[PolicyRule, ...]:
        """What a binding gives."""
        match reference.kind:
            case "ClusterRole":
                table, key = CLUSTER_ROLES, ("", reference.name)
            case "Role" if namespace:
                table, key = ROLES, (namespace, reference.name)
            case "Role":
                raise bad_request("Namespace parameter required.")
            case other:
                raise internal(f"unsupported role reference kind: {json.dumps(other)}")
        found = self._store.table(table).live.get(key)
        if found is None:  # said of the bindings, with the name of the role
            raise not_found(kind.resource, reference.name)
        return msgspec.json.decode(found.body, type=Role).rules or ()

    def _holds(self, user: User, kind: Kind, namespace: str, made: Tree, rules: Iterable[PolicyRule]) -> None:
        missing = self._lacking(user, namespace, rules)
        if not missing:
            return
        groups = " ".join(json.dumps(group) for group in user.groups)
        why = f"user {json.dumps(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions not currently"
        why += " held:\n" + "\n".join(sorted({_described(rule) for rule in _compacted(missing)}))
        trouble = self._access.rules(user, namespace)[1]
        if trouble:
            why += f"; resolution errors: [{trouble}]"
        raise forbidden(kind.resource, made["metadata"].get("name") or "", why)

    def _lacking(self, user: User, namespace: str, rules: Iterable[PolicyRule]) -> list[PolicyRule]:
        """The single rights in these rules that no rule of the user's covers."""
        held = self._access.rules(user, namespace)[0]
        single = [right for rule in rules for right in _broken_down(rule)]
        return [right for right in single if not any(_covers(rule, right) for rule in held)]


def _is_collecting(old: Tree | None, made: Tree) -> bool:
    """Whether nothing changes but what a garbage collector needs to change."""
    return old is not None and _apart(old) == _apart(made)


def _apart(tree: Tree) -> Tree:
    return tree | {"metadata": {key: each for key, each in tree["metadata"].items() if key not in _COLLECTED}}


def _collects(role: Tree | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _broken_down(rule: PolicyRule) -> Iterator[PolicyRule]:
    """Rights of one verb to one thing each."""
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in rule.verbs or ():
                single = PolicyRule(verbs=(verb,), api_groups=(group,), resources=(resource,))
                if not rule.resource_names:
                    yield single
                for name in rule.resource_names:
                    yield msgspec.structs.replace(single, resource_names=(name,))
    for url in rule.urls:
        for verb in rule.verbs or ():
            yield PolicyRule(verbs=(verb,), urls=(url,))


def _covers(held: PolicyRule, right: PolicyRule) -> bool:
    """Whether a rule includes a single right."""
    return (
        _has(held.verbs or (), right.verbs or ())
        and _has(held.api_groups, right.api_groups)
        and all(_has_resource(held.resources, each) for each in right.resources)
        and all(any(is_under(url, own) for own in held.urls) for url in right.urls)
        and (not held.resource_names or bool(right.resource_names and right.resource_names[0] in held.resource_names))
    )


def _has(held: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return "*" in held or all(each in held for each in wanted)


def _has_resource(held: tuple[str, ...], wanted: str) -> bool:
    if "*" in held or wanted in held:
        return True
    _, slash, subresource = wanted.partition("/")
    return bool(slash) and f"*/{subresource}" in held


def _compacted(rights: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Rights to the same resources together; those to paths stay as they are."""
    found: dict[tuple[object, ...], PolicyRule] = {}
    for index, right in enumerate(rights):
        key = (index,) if right.urls else (right.api_groups, right.resources, right.resource_names)
        known = found.get(key)
        verbs = (*((known.verbs or ()) if known else ()), *(right.verbs or ()))
        found[key] = msgspec.structs.replace(right, verbs=verbs)
    return list(found.values())


def _described(rule: PolicyRule) -> str:
    """As the server prints a rule."""
    parts = (
        ("APIGroups", rule.api_groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.urls),
        ("ResourceNames", rule.resource_names),
        ("Verbs", rule.verbs or ()),
    )
    texts = [f"{name}:[{' '.join(json.dumps(each) for each in values)}]" for name, values in parts if values]
    return "{" + ", ".join(texts) + "}"
