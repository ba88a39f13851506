"""What is lost of a body when it is decoded and yet counts for the server: empty lists, and the text of some data.

Some kinds compare what is stored with what was sent to the letter: an empty list is stored as none, so whoever sends
one has changed something. The data of a ControllerRevision is kept as it was written, and must not change: a patch of
anything else writes it anew without blanks, one that knows types also in the order of its keys, which may differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
from msgspec import Struct

from kubeloop.request import Request
from kubesim.errors import invalid, wrong
from kubesim.kinds.registry import CONTROLLER_REVISIONS, MUTATING_WEBHOOKS, NETWORK_POLICIES, VALIDATING_WEBHOOKS, Kind
from kubesim.patches.managed_fields import bare
from kubesim.patches.patch import STRATEGIC_PATCH
from kubesim.schema.values import IMMUTABLE
from kubesim.store.versions import Tree, Version
from kubesim.typed.types import Typed, Wording

_COMPARED = (NETWORK_POLICIES.kind, MUTATING_WEBHOOKS.kind, VALIDATING_WEBHOOKS.kind)
_REVISION = CONTROLLER_REVISIONS.kind
_JSON = ("", "application/json")


class _Data(Struct):
    data: msgspec.Raw = msgspec.Raw()


def listen(kind: str) -> Callable[[Request, Tree, Typed], Wording] | None:
    """How the bodies of a kind are to be heard, None where decoding says it all."""
    if kind in _COMPARED:
        return lambda _request, _tree, made: Wording(has_blanks=any("metadata" not in words for words in made.empty))
    return _revision if kind == _REVISION else None


def _revision(request: Request, tree: Tree, _made: Typed) -> Wording:
    content = request.content_type.partition(";")[0].strip()
    if request.method != "PATCH" and content in _JSON:
        return Wording(data=_text_in(request.body))
    return Wording(data=_written(tree.get("data"), is_sorted=content == STRATEGIC_PATCH))


def _text_in(body: bytes) -> bytes:
    return bytes(msgspec.json.decode(body, type=_Data).data) or b"null"


def _written(data: object, *, is_sorted: bool) -> bytes:
    """As the server writes it itself."""
    return json.dumps(data, sort_keys=is_sorted, separators=(",", ":"), ensure_ascii=False).encode()


def born(kind: Kind, sent: Tree, new: Tree) -> Tree:
    """A new object as it is written."""
    if kind.resource is not CONTROLLER_REVISIONS or not isinstance(sent, Typed) or sent.wording is None:
        return new
    text = sent.wording.data
    is_said = msgspec.json.decode(text) == new.get("data")  # else a webhook has said something else
    return new | {"data": msgspec.Raw(text)} if is_said else new


def check(kind: Kind, old: Version, sent: Tree, after: Tree, *, is_request: bool) -> None:
    """Counts or refuses what a change changes to the letter alone; in place."""
    wording = sent.wording if isinstance(sent, Typed) else None
    if wording is not None and wording.has_blanks:
        after["metadata"]["generation"] = (old.tree()["metadata"].get("generation") or 0) + 1
    if kind.resource is CONTROLLER_REVISIONS and is_request:
        if wording is None and bare(after) == bare(old.tree()):  # applied without effect, and so not written anew
            return
        text = _written(after.get("data"), is_sorted=True) if wording is None else wording.data
        if text != _text_in(old.body):
            cause = wrong("data", msgspec.json.decode(text), IMMUTABLE)
            raise invalid(kind.resource, old.head.name, [cause])


def kept(kind: Kind, old: Version, after: Tree) -> Tree:
    """A changed object as it is written."""
    return after | {"data": msgspec.Raw(_text_in(old.body))} if kind.resource is CONTROLLER_REVISIONS else after
