"""One question to one webhook: the AdmissionReview that is sent, and what its answer means."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from msgspec import Struct

from kubeloop.calls import Call, Caller, NoReply, Reply
from kubeloop.objects.meta import Resource
from kubesim.admission.replies import Unreadable, content, succeeded, unanswered, why
from kubesim.auth.rbac import User
from kubesim.errors import StatusError, bad_request, quoted
from kubesim.kinds.registry import Kind
from kubesim.rules.webhook_configurations import VERSIONS, Hook
from kubesim.store.versions import Tree
from kubesim.writes.asking import Question

JSON_PATCH = "JSONPatch"
_GROUP = "admission.k8s.io"
_KIND = "AdmissionReview"
_HEADERS = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json, */*"),
    ("User-Agent", "kube-apiserver-admission"),
)
_LEAST_REFUSAL = 400


class Failed(Exception):
    """The webhook was not asked, or did not answer as it must; its failure policy says what follows."""


class Asker(Struct, frozen=True):
    """On whose behalf, and with which options of the request."""

    user: User
    options: Tree


class View(Struct, frozen=True):
    """The version in which somebody wants to see the objects of a question."""

    kind: Kind
    shown: Resource


class Invocation(View, frozen=True):
    """A webhook that is asked."""

    hook: Hook


class Answer(Struct, frozen=True):
    """What a webhook said."""

    patch: bytes = b""
    patch_type: str = ""
    warnings: tuple[str, ...] = ()
    refusal: StatusError | None = None


class _Response(Struct, frozen=True, rename="camel"):
    allowed: bool = False
    uid: str = ""
    status: Tree | None = None
    patch: str | None = None
    patch_type: str | None = None
    warnings: tuple[str, ...] | None = None


class _Envelope(Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    response: _Response | None = None


async def ask(invocation: Invocation, question: Question, asker: Asker, uid: str, caller: Caller) -> Answer:
    """Asks the webhook about trees in its version; raises Failed, and StatusError when it must not be asked."""
    hook = invocation.hook
    if question.dry_run and hook.side_effects not in ("None", "NoneOnDryRun"):
        raise bad_request(f"admission webhook {quoted(hook.name)} does not support dry run")
    version = next((each for each in hook.admission_review_versions if each in VERSIONS), "")
    body = {
        "kind": _KIND,
        "apiVersion": f"{_GROUP}/{version}",
        "request": {
            "uid": uid,
            **request_of(invocation, question, asker),
            "object": question.object,
            "oldObject": question.old,
        },
    }
    url = f"{hook.client_config.address}?timeout={hook.timeout_seconds}s"
    call = Call(
        method="POST",
        url=url,
        headers=_HEADERS,
        body=msgspec.json.encode(body),
        timeout=float(hook.timeout_seconds),
        authority=hook.client_config.authority,
        follows=True,
    )
    try:
        reply = await caller(call)
    except NoReply as error:
        raise Failed(f"failed to call webhook: {unanswered(call, error)}") from None
    return _understood(hook, version, uid, _envelope(reply, version), mutating=question.phase == "mutating")


def request_of(view: View, question: Question, asker: Asker) -> Tree:
    """A question as reviews and expressions show it, without the objects."""
    asked = question.kind.resource
    named = {
        "subResource": question.subresource,
        "requestSubResource": question.subresource,
        "name": question.name,
        "namespace": question.namespace,
    }
    kinds = {"DELETE": "DeleteOptions", "CREATE": "CreateOptions"}
    options = {"kind": kinds.get(question.operation, "UpdateOptions"), "apiVersion": "meta.k8s.io/v1"}
    return {
        "kind": _kind(view.shown),
        "resource": _resource(view.kind.resource),
        "requestKind": _kind(question.shown),
        "requestResource": _resource(asked),
        **{key: value for key, value in named.items() if value},
        "operation": question.operation,
        "userInfo": asker.user.info(),
        "dryRun": question.dry_run,
        "options": options | asker.options,
    }


def _kind(resource: Resource) -> Tree:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(resource: Resource) -> Tree:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _envelope(reply: Reply, version: str) -> _Envelope:
    """The review in an answer; what it does not say is as it was asked for."""
    call = "failed to call webhook: "
    if not succeeded(reply):
        raise Failed(call + why(reply))
    if not reply.body:
        kind = next((value for name, value in reply.headers if name.lower() == "content-type"), "")
        raise Failed(f"{call}0-length response with status code: {reply.status} and content type: {kind}")
    try:
        tree = content(reply)
    except Unreadable as error:
        raise Failed(f"{call}{error}") from None
    expected = f"{_GROUP}/{version}"
    api_version, kind = tree.get("apiVersion") or expected, tree.get("kind") or _KIND
    if kind != _KIND or api_version not in [f"{_GROUP}/{each}" for each in VERSIONS]:
        raise Failed(call + unregistered(str(api_version), str(kind)))
    if api_version != expected:
        number = api_version.rpartition("/")[2]
        raise Failed(f"{call}converting ({number}.{_KIND}) to ({version}.{_KIND}): unknown conversion")
    try:
        return msgspec.convert(tree | {"apiVersion": api_version, "kind": kind}, _Envelope)
    except msgspec.ValidationError as error:
        raise Failed(f"{call}{error}") from None


def unregistered(api_version: str, kind: str) -> str:
    """What the server says of a kind that it cannot read."""
    return (
        f'no kind {quoted(kind)} is registered for version {quoted(api_version)} in scheme "pkg/runtime/scheme.go:111"'
    )


def _understood(hook: Hook, version: str, uid: str, envelope: _Envelope, *, mutating: bool) -> Answer:
    response = envelope.response
    wrong = "received invalid webhook response: "
    if response is None:
        raise Failed(wrong + "webhook response was absent")
    if version == "v1":
        _check(response, uid, mutating)
    try:
        patch = base64.b64decode(response.patch or "", validate=True) if mutating else b""
    except binascii.Error:
        raise Failed("failed to call webhook: response.patch is not base64") from None
    refusal = None if response.allowed else _refusal(hook.name, response.status or {})
    patch_type = response.patch_type or "" if version == "v1" else JSON_PATCH
    return Answer(patch, patch_type, response.warnings or (), refusal)


def _check(response: _Response, uid: str, mutating: bool) -> None:
    """What the older version of the review leaves unchecked."""
    wrong = "received invalid webhook response: "
    if response.uid != uid:
        raise Failed(f"{wrong}expected response.uid={quoted(uid)}, got {quoted(response.uid)}")
    if mutating and response.patch and response.patch_type is None:
        raise Failed(f"{wrong}webhook returned response.patch but not response.patchType")
    if mutating and not response.patch and response.patch_type is not None:
        raise Failed(f"{wrong}webhook returned response.patchType but not response.patch")
    for key, value in (("patch", response.patch), ("patchType", response.patch_type)):
        if not mutating and value:
            raise Failed(f"{wrong}validating webhook may not return response.{key}")


def _refusal(name: str, status: dict[str, Any]) -> StatusError:
    """The webhook's own status, made a failure."""
    denied = f"admission webhook {quoted(name)} denied the request"
    code = status.get("code") or 0
    message, reason = status.get("message") or "", status.get("reason") or ""
    why = f": {message or reason}" if message or reason else " without explanation"
    return StatusError(max(code, _LEAST_REFUSAL), reason, denied + why, status.get("details"))
