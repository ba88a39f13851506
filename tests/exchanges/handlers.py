"""Webhooks that cases refer to by name: one answers at `/name` of the host that both clusters are told of."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

from kubeloop.calls import Call, Handler, Reply
from tests.e2e.conversions import converted
from tests.e2e.webhooks import Decide, answering, patching

Tree = dict[str, Any]

SLOW_SECONDS = 30.0
_JSON = (("Content-Type", "application/json"),)


def _mark(request: Tree) -> Tree:
    """Denies; a configuration is known to be in effect by it."""
    return {"allowed": False, "status": {"message": "in effect"}}


def _added(*operations: Tree) -> Decide:
    return lambda request: patching(*operations)


def _label(name: str, value: str = "yes") -> Tree:
    return {"op": "add", "path": f"/metadata/labels/{name}", "value": value}


async def _slow(request: Tree) -> Tree:
    await asyncio.sleep(SLOW_SECONDS)
    return {}


def _described(request: Tree) -> Tree:
    """Denies and tells what it was asked, as far as that is the same in every run."""
    shown = {
        key: request.get(key)
        for key in ("kind", "resource", "subResource", "requestKind", "operation", "name", "namespace", "dryRun")
    }
    shown["user"] = (request.get("userInfo") or {}).get("username")
    shown["has"] = sorted(key for key in ("object", "oldObject") if request.get(key))
    shown["options"] = (request.get("options") or {}).get("kind")
    return {"allowed": False, "status": {"message": json.dumps(shown, sort_keys=True)}}


def _only_labelled(request: Tree) -> Tree:
    """Counts its calls in a label, so that a second round shows."""
    labels = request["object"]["metadata"].get("labels") or {}
    seen = int(labels.get("seen", "0")) + 1
    return patching({"op": "add", "path": "/metadata/labels", "value": labels | {"seen": str(seen)}})


_DECIDING: dict[str, Decide] = {
    "allow": lambda request: {},
    "mark": _mark,
    "deny": lambda request: {"allowed": False, "status": {"message": "not like this"}},
    "deny-silently": lambda request: {"allowed": False},
    "deny-with-code": lambda request: {
        "allowed": False,
        "status": {"code": 418, "reason": "Conflict", "message": "a teapot"},
    },
    "deny-with-details": lambda request: {
        "allowed": False,
        "status": {"code": 422, "reason": "Invalid", "message": "broken", "details": {"causes": [{"field": "data"}]}},
    },
    "warn": lambda request: {"warnings": ["first of two", 'the "second"']},
    "deny-and-warn": lambda request: {"allowed": False, "warnings": ["think again"], "status": {"message": "no"}},
    "long-warning": lambda request: {"warnings": ["x" * 300, "y" * 5000]},
    "describe": _described,
    "patch": _added(_label("patched")),
    "patch-data": _added({"op": "add", "path": "/data", "value": {"by": "webhook"}}),
    "patch-nothing": _added(),
    "patch-missing": _added({"op": "remove", "path": "/data/absent"}),
    "patch-test": _added({"op": "test", "path": "/metadata/name", "value": "other"}),
    "patch-name": _added({"op": "replace", "path": "/metadata/name", "value": "other"}),
    "patch-namespace": _added({"op": "replace", "path": "/metadata/namespace", "value": "other"}),
    "patch-unknown-field": _added({"op": "add", "path": "/bogus", "value": 1}),
    "patch-wrong-type": _added({"op": "add", "path": "/data", "value": 5}),
    "patch-invalid": _added({"op": "add", "path": "/metadata/labels/bad label", "value": "x"}),
    "patch-no-type": lambda request: {"patch": patching(_label("patched"))["patch"]},
    "patch-wrong-kind": lambda request: patching(_label("patched")) | {"patchType": "MergePatch"},
    "patch-not-json": lambda request: {"patchType": "JSONPatch", "patch": "bm90IGpzb24="},
    "patch-and-deny": lambda request: patching(_label("patched")) | {"allowed": False},
    "wrong-uid": lambda request: {"uid": "other"},
    "bad-audit": lambda request: {"auditAnnotations": {"bad key!": "x"}},
    "count": _only_labelled,
    "slow": _slow,
}
_REPLYING: dict[str, Reply] = {
    "not-json": Reply(200, b"well, no", _JSON),
    "empty": Reply(200, b"", _JSON),
    "no-response": Reply(200, b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', _JSON),
    "wrong-version": Reply(200, b'{"apiVersion":"admission.k8s.io/v9","kind":"AdmissionReview"}', _JSON),
    "wrong-kind": Reply(200, b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}', _JSON),
    "error-500": Reply(500, b"out of order", (("Content-Type", "text/plain"),)),
    "error-404": Reply(404, b"nobody here", (("Content-Type", "text/plain"),)),
}


def _converting(name: str) -> Handler:
    """Converts gadgets, rightly or in the way its name says."""

    async def handler(call: Call) -> Reply:
        review = json.loads(call.body)
        request = review["request"]
        made = [converted(tree, request["desiredAPIVersion"]) for tree in request["objects"]]
        response: Tree = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": made}
        match name:
            case "convert-fails":
                response["result"] = {"status": "Failure", "message": "cannot be told in the other version"}
            case "convert-drops":
                response["convertedObjects"] = []
            case "convert-uid":
                response["uid"] = "other"
            case "convert-renames":
                for tree in made:
                    tree["metadata"]["name"] = "other"
            case "convert-relabels":
                for tree in made:
                    tree["metadata"].setdefault("labels", {})["converted"] = "yes"
            case "convert-wrong-version":
                for tree in made:
                    tree["apiVersion"] = tree["apiVersion"].rpartition("/")[0] + "/v9"
        body = {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}
        return Reply(200, json.dumps(body).encode(), _JSON)

    return handler


_CONVERTING = (
    "convert",
    "convert-fails",
    "convert-drops",
    "convert-uid",
    "convert-renames",
    "convert-relabels",
    "convert-wrong-version",
)
HANDLERS: dict[str, Handler] = {name: answering(decide) for name, decide in _DECIDING.items()} | {
    name: _converting(name) for name in _CONVERTING
}


async def answer(call: Call) -> Reply:
    """All handlers behind one host, told apart by path."""
    name = urlsplit(call.url).path.strip("/")
    if name in _REPLYING:
        return _REPLYING[name]
    return await HANDLERS[name](call)


def exists(name: str) -> bool:
    return name in HANDLERS or name in _REPLYING
