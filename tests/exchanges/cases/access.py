"""Rights by roles, acting as somebody else, and asking about rights, tokens and oneself."""

from __future__ import annotations

from typing import Any

from tests.exchanges.case import (
    Case,
    Step,
    acting,
    applied,
    by,
    case,
    delete,
    get,
    patch,
    post,
    put,
    quiet,
    ready,
    watch,
)
from tests.exchanges.cases.samples import CORE, DEPLOYMENTS, MAPS, RBAC, a_map, an_object

JANE = "jane"
_AUTHORIZATION = "/apis/authorization.k8s.io/v1"
_AUTHENTICATION = "/apis/authentication.k8s.io/v1"
_REF = {"apiGroup": "rbac.authorization.k8s.io"}


def _role(*rules: tuple[str, str, str], names: tuple[str, ...] = ()) -> list[Step]:
    """Jane's role in the namespace: groups, resources and verbs, separated by spaces."""
    made = [
        {"apiGroups": groups.split(","), "resources": resources.split(), "verbs": verbs.split()}
        | ({"resourceNames": list(names)} if names else {})
        for groups, resources, verbs in rules
    ]
    role = an_object("rbac.authorization.k8s.io/v1", "Role", rules=made)
    binding = an_object(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        roleRef=_REF | {"kind": "Role", "name": "one"},
        subjects=[{"kind": "User", "name": JANE} | _REF],
    )
    steps = [post(f"{RBAC}/namespaces/{{ns}}/roles", role), post(f"{RBAC}/namespaces/{{ns}}/rolebindings", binding)]
    return [*map(quiet, steps), ready(_asked(JANE, *_first(rules, names)), 201, '"allowed":true')]


def _first(rules: tuple[tuple[str, str, str], ...], names: tuple[str, ...]) -> tuple[str, str, str, str]:
    groups, resources, verbs = rules[0]
    return groups.split(",")[0], resources.split()[0], verbs.split()[0], names[0] if names else ""


def _asked(user: str, group: str, resource: str, verb: str, name: str = "") -> Step:
    plural, _, subresource = resource.partition("/")
    wanted = {"namespace": "{ns}", "verb": verb, "group": group, "resource": plural, "name": name}
    review = {"spec": {"user": user, "resourceAttributes": wanted | {"subresource": subresource}}}
    return post(f"{_AUTHORIZATION}/subjectaccessreviews", review)


def _review(kind: str, **spec: Any) -> Step:
    group = _AUTHENTICATION if kind in ("TokenReview", "SelfSubjectReview") else _AUTHORIZATION
    space = "/namespaces/{ns}" if kind.startswith("Local") else ""
    version = group.removeprefix("/apis/")
    body = {"apiVersion": version, "kind": kind} | ({"spec": spec} if spec else {})
    return post(f"{group}{space}/{kind.lower()}s", body)


_OWN_ROLES = f"{RBAC}/namespaces/{{ns}}/roles"
_OWN_BINDINGS = f"{RBAC}/namespaces/{{ns}}/rolebindings"


def _giving(group: str, *resources: str, name: str) -> dict[str, Any]:
    """A role by which these may be read and deleted."""
    rules = [{"apiGroups": [group], "resources": list(resources), "verbs": ["get", "delete"]}]
    return an_object("rbac.authorization.k8s.io/v1", "Role", name, rules=rules)


def _bound(kind: str, name: str) -> dict[str, Any]:
    subjects = [{"kind": "User", "name": "joe"} | _REF]
    reference = _REF | {"kind": kind, "name": name}
    return an_object(
        "rbac.authorization.k8s.io/v1", "RoleBinding", f"{name}-of-joe", roleRef=reference, subjects=subjects
    )


_ROLES = (
    case(
        "somebody without rights",
        *[
            by(JANE, step)
            for step in (
                get(MAPS),
                get(f"{MAPS}/one"),
                watch(MAPS),
                post(MAPS, a_map()),
                put(f"{MAPS}/one", a_map()),
                patch(f"{MAPS}/one", {}),
                delete(f"{MAPS}/one"),
                delete(MAPS),
                get("/api/v1/nodes"),
                get("/api/v1/configmaps"),
                get(f"{DEPLOYMENTS}/one/scale"),
                get("/apis/none.example.com/v1/things"),
                get("/metrics"),
            )
        ],
    ),
    case(
        "rights in a namespace",
        *_role(("", "configmaps", "get list create")),
        by(JANE, post(MAPS, a_map())),
        by(JANE, get(f"{MAPS}/one")),
        by(JANE, delete(f"{MAPS}/one")),
        by(JANE, get("/api/v1/namespaces/default/configmaps")),
        by(JANE, watch(MAPS)),
    ),
    case(
        "rights to one name",
        *_role(("", "configmaps", "get update"), names=("one",)),
        quiet(post(MAPS, a_map())),
        by(JANE, get(f"{MAPS}/one")),
        by(JANE, get(f"{MAPS}/two")),
        by(JANE, get(MAPS)),
    ),
    case(
        "rights to a subresource",
        *_role(("apps", "deployments/scale", "get")),
        by(JANE, get(f"{DEPLOYMENTS}/one/scale")),
        by(JANE, get(f"{DEPLOYMENTS}/one")),
    ),
    case(
        "rights to update that do not create",
        *_role(("coordination.k8s.io", "leases", "update")),
        by(
            JANE,
            put(
                "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/one", an_object("coordination.k8s.io/v1", "Lease")
            ),
        ),
    ),
    case(
        "rights that are not one's own to give",
        *_role(("rbac.authorization.k8s.io", "roles rolebindings", "create"), ("", "configmaps", "get")),
        by(
            JANE,
            post(
                f"{RBAC}/namespaces/{{ns}}/roles",
                an_object(
                    "rbac.authorization.k8s.io/v1",
                    "Role",
                    "more",
                    rules=[{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
                ),
            ),
        ),
        by(
            JANE,
            post(
                f"{RBAC}/namespaces/{{ns}}/roles",
                an_object(
                    "rbac.authorization.k8s.io/v1",
                    "Role",
                    "same",
                    rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
                ),
            ),
        ),
    ),
    case(
        "more rights by changing a role",
        *_role(("rbac.authorization.k8s.io", "roles", "get update patch"), ("", "configmaps", "get")),
        quiet(post(_OWN_ROLES, _giving("", "secrets", name="big"))),
        by(JANE, patch(f"{_OWN_ROLES}/big", {"metadata": {"labels": {"a": "b"}}})),
        by(JANE, patch(f"{_OWN_ROLES}/big", {"metadata": {"finalizers": ["example.com/kept"]}})),
        by(JANE, put(f"{_OWN_ROLES}/big", _giving("", "pods", "secrets", "configmaps", name="big"))),
        by(JANE, put(f"{_OWN_ROLES}/big", _giving("", "configmaps", name="big"))),
        by(JANE, applied(f"{_OWN_ROLES}/big", _giving("apps", "deployments", name="big"), force="true")),
    ),
    case(
        "rights that one may give anyway",
        *_role(("rbac.authorization.k8s.io", "roles", "create escalate")),
        by(JANE, post(_OWN_ROLES, _giving("", "secrets", name="big"))),
    ),
    case(
        "bindings to more than one has",
        *_role(("rbac.authorization.k8s.io", "rolebindings", "create"), ("", "configmaps", "get")),
        quiet(post(_OWN_ROLES, _giving("", "secrets", name="big"))),
        quiet(post(_OWN_ROLES, _giving("", "configmaps", name="small"))),
        by(JANE, post(_OWN_BINDINGS, _bound("Role", "big"))),
        by(JANE, post(_OWN_BINDINGS, _bound("Role", "small"))),
        by(JANE, post(_OWN_BINDINGS, _bound("Role", "none"))),
        by(JANE, post(_OWN_BINDINGS, _bound("ClusterRole", "cluster-admin"))),
        by(JANE, post(_OWN_BINDINGS, _bound("Thing", "big"))),
    ),
    case(
        "bindings that one may make anyway",
        *_role(("rbac.authorization.k8s.io", "rolebindings", "create"), ("rbac.authorization.k8s.io", "roles", "bind")),
        quiet(post(_OWN_ROLES, _giving("", "secrets", name="big"))),
        by(JANE, post(_OWN_BINDINGS, _bound("Role", "big"))),
    ),
    case(
        "roles that are refused",
        post(
            f"{RBAC}/namespaces/{{ns}}/roles", an_object("rbac.authorization.k8s.io/v1", "Role", rules=[{"verbs": []}])
        ),
        post(
            f"{RBAC}/namespaces/{{ns}}/rolebindings",
            an_object(
                "rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={}, subjects=[{"kind": "Nobody", "name": ""}]
            ),
        ),
    ),
    case(
        "a binding keeps its role",
        quiet(
            post(
                f"{RBAC}/namespaces/{{ns}}/rolebindings",
                an_object("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef=_REF | {"kind": "Role", "name": "a"}),
            )
        ),
        patch(f"{RBAC}/namespaces/{{ns}}/rolebindings/one", {"roleRef": {"name": "b"}}),
    ),
)

_ACTING = (
    case(
        "acting as somebody",
        acting(_review("SelfSubjectReview"), ("Impersonate-User", JANE), ("Impersonate-Group", "people")),
    ),
    case(
        "acting as an account",
        acting(_review("SelfSubjectReview"), ("Impersonate-User", "system:serviceaccount:{ns}:default")),
        acting(get(MAPS), ("Impersonate-User", "system:serviceaccount:default:default")),
    ),
    case(
        "acting without the right",
        by(JANE, acting(get(MAPS), ("Impersonate-User", "joe"))),
        by(JANE, acting(get(MAPS), ("Impersonate-Group", "people"))),
    ),
    case("acting as a group alone", acting(get(MAPS), ("Impersonate-Group", "people"))),
    case(
        "acting with a uid and more",
        acting(
            _review("SelfSubjectReview"),
            ("Impersonate-User", JANE),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Extra-Scopes", "all"),
        ),
    ),
    case(
        "acting as nobody with more",
        acting(get(MAPS), ("Impersonate-Extra-Scopes", "all"), ("Impersonate-Extra-Acme.com%2Fplace", "here")),
    ),
    case(
        "acting with more and without the right",
        by(JANE, acting(get(MAPS), ("Impersonate-User", JANE), ("Impersonate-Extra-Scopes", "all"))),
    ),
    case(
        "acting as a master",
        acting(get("/api/v1/namespaces/{ns}"), ("Impersonate-User", JANE), ("Impersonate-Group", "system:masters")),
    ),
)

_WISH = {"namespace": "{ns}", "verb": "get", "resource": "configmaps"}
_REVIEWS = (
    case("who one is", _review("SelfSubjectReview"), by(JANE, _review("SelfSubjectReview"), "people", "others")),
    case(
        "what one may do",
        _review("SelfSubjectAccessReview", resourceAttributes=_WISH),
        by(JANE, _review("SelfSubjectAccessReview", resourceAttributes=_WISH)),
        by(JANE, _review("SelfSubjectAccessReview", nonResourceAttributes={"path": "/api", "verb": "get"})),
    ),
    case(
        "what others may do",
        *_role(("", "configmaps", "get")),
        _asked(JANE, "", "configmaps", "get"),
        _asked(JANE, "", "configmaps", "list"),
        _review("SubjectAccessReview", groups=["system:masters"], resourceAttributes=_WISH),
    ),
    case(
        "what others may do in a namespace",
        _review("LocalSubjectAccessReview", user=JANE, resourceAttributes=_WISH),
        _review("LocalSubjectAccessReview", user=JANE, resourceAttributes=_WISH | {"namespace": "other"}),
    ),
    case(
        "reviews that are refused",
        _review("SubjectAccessReview"),
        _review("SubjectAccessReview", user=JANE),
        _review("SelfSubjectAccessReview"),
        _review(
            "SelfSubjectAccessReview", resourceAttributes=_WISH, nonResourceAttributes={"path": "/", "verb": "get"}
        ),
        get(f"{_AUTHORIZATION}/subjectaccessreviews"),
    ),
    case(
        "the rules of one's own",
        *_role(("", "configmaps", "get list")),
        by(JANE, _review("SelfSubjectRulesReview", namespace="{ns}")),
        _review("SelfSubjectRulesReview"),
    ),
    case("a token that is none", _review("TokenReview", token="nonsense"), _review("TokenReview")),
    case(
        "a token of an account",
        post(f"{CORE}/serviceaccounts/default/token", {"spec": {"expirationSeconds": 600}}),
        _review("TokenReview", token="<<1.status.token>>"),
        post(f"{CORE}/serviceaccounts/missing/token", {}),
        post(f"{CORE}/serviceaccounts/default/token", {"spec": {"expirationSeconds": 5}}),
    ),
)

CASES: tuple[Case, ...] = (*_ROLES, *_ACTING, *_REVIEWS)
