"""Questions about rights, users and tokens: objects that are answered when they are created, and not stored."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubesim.auth.rbac import Access, Attributes, User
from kubesim.auth.tokens import ISSUER, Tokens
from kubesim.errors import Cause, bad_request, conflict, invalid, not_found, wrong
from kubesim.kinds.converting import unasked
from kubesim.kinds.registry import SERVICE_ACCOUNTS, Kind
from kubesim.patches import managed_fields
from kubesim.patches.managers import Manager
from kubesim.rules.roles import PolicyRule
from kubesim.store.store import Store
from kubesim.store.versions import Tree, timestamp

T = TypeVar("T")

_SHORTEST_SECONDS = 600
_LONGEST_SECONDS = 1 << 32
_BOTH = "cannot be specified in combination with resourceAttributes"
_NEITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_TOKEN_REQUEST = "TokenRequest"  # noqa: S105  the name of a kind
_REQUESTS = Resource("authentication.k8s.io", "v1", "tokenrequests", _TOKEN_REQUEST)


class _Resource(Struct, frozen=True):
    namespace: str = ""
    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


class _Path(Struct, frozen=True):
    path: str = ""
    verb: str = ""


class _Question(Struct, frozen=True, rename="camel"):
    """What an access review asks, about whom."""

    resource_attributes: _Resource | None = None
    non_resource_attributes: _Path | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""

    def attributes(self) -> Attributes:
        asked, path = self.resource_attributes, self.non_resource_attributes or _Path()
        if asked is None:
            return Attributes(path.verb, path=path.path)
        return Attributes(asked.verb, asked.group, asked.resource, asked.subresource, asked.namespace, asked.name)


class _Token(Struct, frozen=True):
    token: str = ""
    audiences: tuple[str, ...] = ()


class _Wish(Struct, frozen=True, rename="camel"):
    """What a token is requested for."""

    audiences: tuple[str, ...] = ()
    expiration_seconds: int = 3600
    bound_object_ref: Tree | None = None


class AccessReviews:
    """Answers to reviews."""

    def __init__(self, store: Store, access: Access, tokens: Tokens) -> None:
        self._store = store
        self._access = access
        self._tokens = tokens

    def answer(self, kind: Kind, namespace: str, tree: Tree, user: User, manager: Manager | None = None) -> Tree:
        """The review with its status; those that show what they were asked show whose fields it is."""
        match kind.resource.kind:
            case "SelfSubjectReview":
                review: Tree = {"metadata": {"creationTimestamp": timestamp()}, "status": {"userInfo": user.info()}}
            case "SelfSubjectRulesReview":
                review = self._rules(tree, user)
            case "TokenReview":
                review = self._token(tree)
                _own(review, kind, "", tree, manager)
            case _:
                review = self._access_review(kind, namespace, tree, user)
                _own(review, kind, "", tree, manager)
        return {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version} | review

    def _access_review(self, kind: Kind, namespace: str, tree: Tree, user: User) -> Tree:
        question = _spec(tree, _Question, kind.resource.kind)
        about_self = kind.resource.kind == "SelfSubjectAccessReview"
        causes = _broken(question, about_self)
        if namespace:
            causes += _misplaced(question, namespace)
        if causes:
            # The name of the kind is lost on the way to this check.
            raise invalid(msgspec.structs.replace(kind.resource, kind=""), "", causes)
        whom = user if about_self else User(question.user, question.groups, question.uid)
        verdict = self._access.judge(whom, question.attributes())
        status: Tree = {"allowed": verdict.allowed}
        if verdict.reason:
            status["reason"] = verdict.reason
        metadata = {"namespace": namespace} if namespace else {}
        return {"metadata": metadata, "spec": tree.get("spec") or {}, "status": status}

    def _rules(self, tree: Tree, user: User) -> Tree:
        namespace = (tree.get("spec") or {}).get("namespace") or ""
        if not namespace:
            raise bad_request("no namespace on request")
        rules, trouble = self._access.rules(user, namespace)
        status: Tree = {
            "resourceRules": [_shown(rule) for rule in rules if rule.resources],
            "nonResourceRules": [_shown(rule) for rule in rules if rule.urls],
            "incomplete": False,
        }
        if trouble:
            status["evaluationError"] = trouble
        return {"metadata": {}, "spec": {}, "status": status}

    def _token(self, tree: Tree) -> Tree:
        spec = _spec(tree, _Token, "TokenReview")
        if not spec.token:
            raise bad_request("token is required for TokenReview in authentication")
        found = self._tokens.recognise(spec.token, spec.audiences or (ISSUER,))
        status: Tree = {"user": {}, "error": "invalid bearer token"}
        if found is not None:
            user, audiences = found
            status = {"authenticated": True, "user": user.info(), "audiences": list(audiences)}
        return {"metadata": {}, "spec": tree.get("spec") or {}, "status": status}

    def token_request(self, namespace: str, name: str, tree: Tree, manager: Manager | None = None) -> Tree:
        """A token for a service account."""
        account = self._store.table(SERVICE_ACCOUNTS).live.get((namespace, name))
        if account is None:
            raise not_found(SERVICE_ACCOUNTS, name)
        wish = _spec(tree, _Wish, _TOKEN_REQUEST)
        if wish.bound_object_ref:
            raise bad_request("the embedded cluster binds no tokens to objects: leave out spec.boundObjectRef")
        kind = msgspec.structs.replace(SERVICE_ACCOUNTS, group="authentication.k8s.io", kind=_TOKEN_REQUEST)
        uid = (tree.get("metadata") or {}).get("uid") or account.head.uid
        if uid != account.head.uid:
            why = f"the UID in the token request ({uid}) does not match the UID of the service account"
            raise conflict(msgspec.structs.replace(kind, plural=_TOKEN_REQUEST), name, f"{why} ({account.head.uid})")
        causes = _bad_seconds(wish.expiration_seconds)
        if causes:
            raise invalid(kind, "", causes)
        audiences = wish.audiences or (ISSUER,)
        token, expires = self._tokens.issue((namespace, name), audiences, wish.expiration_seconds)
        request: Tree = {
            "kind": _TOKEN_REQUEST,
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": timestamp()},
            "spec": {
                "audiences": list(audiences),
                "expirationSeconds": wish.expiration_seconds,
                "boundObjectRef": None,
            },
            "status": {"token": token, "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ")},
        }
        _own(request, Kind(_REQUESTS, ""), "token", tree, manager)
        return request


def _own(review: Tree, kind: Kind, subresource: str, sent: Tree, manager: Manager | None) -> None:
    """Says who owns the fields that were sent."""
    if manager is not None:
        said = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}
        subject = managed_fields.Subject(kind, subresource)
        managed_fields.own(
            review, unasked(managed_fields.created(manager, subject, sent | said, managed_fields.entries_of(sent)))
        )


def _spec(tree: Tree, type_: type[T], kind: str) -> T:
    try:
        return msgspec.convert(
            {key: value for key, value in (tree.get("spec") or {}).items() if value is not None}, type_
        )
    except msgspec.ValidationError as error:
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None


def _broken(question: _Question, about_self: bool) -> list[Cause]:
    causes: list[Cause] = []
    path = question.non_resource_attributes
    if question.resource_attributes is not None and path is not None:
        shown = {"Path": path.path, "Verb": path.verb}
        causes.append(wrong("spec.nonResourceAttributes", shown, _BOTH))
    if question.resource_attributes is None and path is None:
        causes.append(wrong("spec.resourceAttributes", None, _NEITHER))
    if not about_self and not question.user and not question.groups:
        causes.append(wrong("spec.user", "", "at least one of user or group must be specified"))
    return causes


def _misplaced(question: _Question, namespace: str) -> list[Cause]:
    """A question about one namespace that asks about something else."""
    causes: list[Cause] = []
    asked, path = question.resource_attributes, question.non_resource_attributes
    if asked is not None and asked.namespace != namespace:
        causes.append(wrong("spec.resourceAttributes.namespace", asked.namespace, "must match metadata.namespace"))
    if path is not None:
        shown = {"Path": path.path, "Verb": path.verb}
        causes.append(wrong("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
    return causes


def _bad_seconds(seconds: int) -> list[Cause]:
    field = "spec.expirationSeconds"
    if seconds < _SHORTEST_SECONDS:
        return [wrong(field, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _LONGEST_SECONDS:
        return [wrong(field, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _shown(rule: PolicyRule) -> Tree:
    """A rule as reviews list it, without what is empty."""
    parts = {
        "verbs": rule.verbs,
        "apiGroups": rule.api_groups,
        "resources": rule.resources,
        "resourceNames": rule.resource_names,
        "nonResourceURLs": rule.urls,
    }
    return {key: list(values) for key, values in parts.items() if values}
