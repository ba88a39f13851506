"""`authorizer` in expressions: whether somebody may do something, asked in the words of the expression.

authorizer.group('apps').resource('deployments').namespace('shop').check('create').allowed()
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from kubesim.cel.types import Library, Type
from kubesim.cel.values import Failed, Opaque
from kubesim.schema.values import label, subdomain

_PACKAGE = "kubernetes.authorization"
AUTHORIZER, RESOURCE_CHECK = Type(f"{_PACKAGE}.Authorizer"), Type(f"{_PACKAGE}.ResourceCheck")


class Asked(Struct, frozen=True):
    """What is asked for; with a `path` it is none of the resources."""

    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


Judge = Callable[[Asked, str], tuple[bool, str]]
"""Whether somebody may do this, and why; without a name it is whoever makes the request."""


class Authorizer(Opaque, Struct, frozen=True):
    judge: Judge
    user: str = ""
    type_name = AUTHORIZER.name


class PathCheck(Opaque, Struct, frozen=True):
    authorizer: Authorizer
    path: str
    type_name = f"{_PACKAGE}.PathCheck"


class GroupCheck(Opaque, Struct, frozen=True):
    authorizer: Authorizer
    group: str
    type_name = f"{_PACKAGE}.GroupCheck"


class ResourceCheck(Opaque, Struct, frozen=True):
    authorizer: Authorizer
    asked: Asked
    """Without the verb."""
    type_name = RESOURCE_CHECK.name


class Decision(Opaque, Struct, frozen=True):
    allowed: bool
    reason: str
    type_name = f"{_PACKAGE}.Decision"


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise Failed("path must not be empty")
    return PathCheck(authorizer, path)


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if subdomain(name):
        raise Failed("Invalid service account name")
    if label(namespace):
        raise Failed("Invalid service account namespace")
    return Authorizer(authorizer.judge, f"system:serviceaccount:{namespace}:{name}")


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise Failed("resource must not be empty")
    return ResourceCheck(check.authorizer, Asked("", check.group, resource))


def _check(check: PathCheck | ResourceCheck, verb: str) -> Decision:
    authorizer = check.authorizer
    asked = Asked(path=check.path) if isinstance(check, PathCheck) else check.asked
    return Decision(*authorizer.judge(replace(asked, verb=verb), authorizer.user))


_DECLARED = """
Authorizer:path(string) -> PathCheck
Authorizer:group(string) -> GroupCheck
Authorizer:serviceAccount(string, string) -> Authorizer
GroupCheck:resource(string) -> ResourceCheck
ResourceCheck:subresource(string) -> ResourceCheck
ResourceCheck:namespace(string) -> ResourceCheck
ResourceCheck:name(string) -> ResourceCheck
ResourceCheck:fieldSelector(string) -> ResourceCheck
ResourceCheck:labelSelector(string) -> ResourceCheck
PathCheck:check(string) -> Decision
ResourceCheck:check(string) -> Decision
Decision:errored() -> bool
Decision:error() -> string
Decision:allowed() -> bool
Decision:reason() -> string
"""

AUTHORIZATION = Library(
    tuple(re.sub(r"\b([A-Z]\w+)", rf"{_PACKAGE}.\1", _DECLARED).splitlines()),
    {
        "path": _path,
        "group": GroupCheck,
        "serviceAccount": _service_account,
        "resource": _resource,
        "subresource": lambda check, name: replace(check, asked=replace(check.asked, subresource=name)),
        "namespace": lambda check, name: replace(check, asked=replace(check.asked, namespace=name)),
        "name": lambda check, name: replace(check, asked=replace(check.asked, name=name)),
        # Roles do not look at selectors.
        "fieldSelector": lambda check, _: check,
        "labelSelector": lambda check, _: check,
        "check": _check,
        "errored": lambda _: False,
        "error": lambda _: "",
        "allowed": lambda decision: decision.allowed,
        "reason": lambda decision: decision.reason,
    },
)
