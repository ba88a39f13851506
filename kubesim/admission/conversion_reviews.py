"""Conversion webhooks: the ConversionReview that is sent, and what of its answer is believed.

Only the version, the labels and annotations, and what is not metadata are the webhook's to say; everything else in the
metadata stays as it was. One object that is not as it must be fails the whole question.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from kubeloop import clock
from kubeloop.calls import Call, Caller, NoReply, Reply, TooLate
from kubesim.admission.replies import Unreadable, content, succeeded, unanswered, why
from kubesim.admission.reviewing import unregistered
from kubesim.crds.conversion import Webhook, needs_webhook
from kubesim.errors import Cause, internal, quoted
from kubesim.kinds.converting import Convert, copied
from kubesim.store.store import Store
from kubesim.store.versions import Tree
from kubesim.strategies import validation

SECONDS = 30.0
_ATTEMPTS = 11
_GROUP = "apiextensions.k8s.io"
_KIND = "ConversionReview"
_VERSIONS = ("v1", "v1beta1")
_HEADERS = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json, */*"),
    ("User-Agent", "kube-apiserver-admission"),
)
_TOO_MANY, _BROKEN = 429, 500
_TYPES = {
    bool: "bool",
    dict: "map[string]interface {}",
    float: "float64",
    int: "int64",
    list: "[]interface {}",
    str: "string",
    type(None): "<nil>",
}


class Failed(Exception):
    """The answer is not as it must be; the text says why."""


class Converter:
    """Has conversion webhooks answer."""

    def __init__(self, store: Store, caller: Caller) -> None:
        self._store = store
        self._caller = caller

    async def __call__(self, asked: Convert) -> list[Tree]:
        """The answer to a question; raises StatusError in the server's words."""
        webhook = asked.conversion.webhook
        sent = [tree for tree in asked.trees if needs_webhook(tree, asked.desired)]
        if webhook is None or not sent:
            raise ValueError("a conversion that asks nobody is done directly")
        try:
            made = await self._asked(webhook, sent, asked.desired)
            made = [_accepted(*pair, asked.desired, index) for index, pair in enumerate(zip(sent, made, strict=True))]
        except Failed as failure:
            raise internal(f"conversion webhook for {_named(asked.trees[0])} {failure}") from None
        answers = iter(made)
        return [
            next(answers) if needs_webhook(tree, asked.desired) else tree | {"apiVersion": asked.desired}
            for tree in asked.trees
        ]

    async def _asked(self, webhook: Webhook, sent: Sequence[Tree], desired: str) -> list[Tree]:
        """What the webhook says the trees are, one for each."""
        version = next((each for each in webhook.review_versions if each in _VERSIONS), "")
        draws = self._store.draws("conversion")
        uid = str(uuid.UUID(int=draws.integer() << 64 | draws.integer(), version=4))
        review = {
            "kind": _KIND,
            "apiVersion": f"{_GROUP}/{version}",
            "request": {"uid": uid, "desiredAPIVersion": desired, "objects": sent},
            "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
        }
        reply = await self._reply(webhook, msgspec.json.encode(review))
        made = _understood(reply, version, uid)
        if len(made) != len(sent):
            raise Failed(f"returned {len(made)} objects, expected {len(sent)}")
        return made

    async def _reply(self, webhook: Webhook, body: bytes) -> Reply:
        """The reply of the webhook; one that says when to come back is asked again, for half a minute in all."""
        until = clock.monotonic() + SECONDS
        for attempt in range(1, _ATTEMPTS + 1):
            call = Call(
                method="POST",
                url=f"{webhook.client.address}?timeout={SECONDS:g}s",
                headers=_HEADERS,
                body=body,
                timeout=until - clock.monotonic(),
                authority=webhook.client.authority,
                follows=True,
            )
            try:
                reply = await self._caller(call)
            except NoReply as error:
                raise Failed(f"failed: {unanswered(call, error)}") from None
            pause = _pause(reply)
            if succeeded(reply):
                return reply
            if pause is None or attempt == _ATTEMPTS:
                break
            if clock.monotonic() + pause >= until:
                raise Failed(f"failed: {unanswered(call, TooLate())}")
            await asyncio.sleep(pause)
        raise Failed(f"failed: {why(reply)}")


def _pause(reply: Reply) -> float | None:
    """After how many seconds the webhook wants to be asked again; None when it does not say."""
    if reply.status != _TOO_MANY and reply.status < _BROKEN:
        return None
    told = [value for name, value in reply.headers if name.lower() == "retry-after"]
    return float(told[0]) if told and told[0].isdecimal() else None


def _named(tree: Tree) -> str:
    return f"{tree['apiVersion']}, Kind={tree['kind']}"


def _understood(reply: Reply, version: str, uid: str) -> list[Tree]:
    """The objects of an answer that says it succeeded."""
    try:
        review = content(reply)
    except Unreadable as error:
        raise Failed(f"failed: {error}") from None
    said, kind = review.get("apiVersion") or "", review.get("kind") or ""
    if kind and kind != _KIND:
        raise Failed(f"failed: {unregistered(said, kind)}")
    if version == "v1" and (said, kind) != (f"{_GROUP}/v1", _KIND):
        if kind and said == f"{_GROUP}/v1beta1":
            raise Failed(f"failed: converting (v1beta1.{_KIND}) to (v1.{_KIND}): unknown conversion")
        raise Failed(f"failed: expected webhook response of {_GROUP}/v1, Kind={_KIND}, got {said or '/'}, Kind={kind}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise Failed("failed: no response provided")
    if version == "v1" and response.get("uid", "") != uid:
        raise Failed(f"failed: expected response.uid={quoted(uid)}, got {quoted(str(response.get('uid', '')))}")
    result = response.get("result") or {}
    status = result.get("status") or ""
    if status != "Success":
        message = result.get("message") or f"response.result.status was '{status}', not 'Success'"
        raise Failed(f"failed: {message}")
    return response.get("convertedObjects") or []


def _accepted(original: Tree, made: Any, desired: str, index: int) -> Tree:
    """The converted object with the metadata of the original, as far as the webhook may not change it."""
    wrong = f"returned invalid object at index {index}: "
    if not isinstance(made, dict) or not made.get("kind"):
        raise Failed(f"{wrong}Object 'Kind' is missing in '{json.dumps(made)}'")
    if made.get("apiVersion") != desired:
        raise Failed(f"{wrong}invalid groupVersion (expected {desired}, received {made.get('apiVersion') or ''})")
    if made["kind"] != original["kind"]:
        raise Failed(f"{wrong}invalid kind (expected {original['kind']}, received {made['kind']})")
    for field, word in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        before, after = (_metadata_text(tree, field) for tree in (original, made))
        if before != after:
            raise Failed(f"returned invalid object: must have the same {word}: {before} != {after}")
    try:
        return _with_old_metadata(original, made)
    except Failed as failure:
        raise Failed(f"returned invalid metadata: {failure}") from None


def _metadata_text(tree: Tree, field: str) -> str:
    metadata = tree.get("metadata")
    value = metadata.get(field) if isinstance(metadata, dict) else None
    return value if isinstance(value, str) else ""


def _with_old_metadata(original: Tree, made: Tree) -> Tree:
    if "metadata" not in made:
        raise Failed("missing metadata in converted object")
    said = made["metadata"]
    if not isinstance(said, dict):
        raise Failed(f"invalid metadata of type {_type(said)} in converted object")
    metadata = copied(original.get("metadata") or {})
    for field in ("labels", "annotations"):
        before = metadata.pop(field, None) or {}
        values = said.get(field)
        if values is None:
            continue
        if not isinstance(values, dict):
            raise Failed(f"invalid metadata.{field} of type {_type(values)} in converted object")
        for key, value in values.items():
            if not isinstance(value, str):
                text = f"metadata.{field}[{key}] must be a string, but is {_type(value)} in converted object"
                raise Failed(text)
        if values != before:
            _check(validation.label_causes(values) if field == "labels" else validation.annotation_causes(values))
        metadata[field] = values
    return made | {"metadata": metadata}


def _check(causes: list[Cause]) -> None:
    sentences = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    if sentences:
        raise Failed(sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]")


def _type(value: object) -> str:
    return _TYPES[type(value)]
