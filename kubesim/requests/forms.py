"""Answers in the form that a client accepts: tables, metadata alone, YAML.

What the server does is done first and answered as JSON; here that answer is put into the other forms.
"""

from __future__ import annotations

import msgspec
import yaml

from kubeloop.request import Response
from kubesim.discovery.negotiation import PARTIAL, PARTIAL_LIST, TABLE, YAML, Form, cannot_show
from kubesim.errors import internal
from kubesim.kinds import views
from kubesim.kinds.registry import Kind
from kubesim.requests.tables import included, partial, table
from kubesim.store.versions import Tree

_decoder: msgspec.json.Decoder[Tree] = msgspec.json.Decoder(Tree)


class Dress(msgspec.Struct, frozen=True):
    """The form of one request's answers, with what it takes to put them into it."""

    form: Form
    kind: Kind
    subresource: str = ""
    include: str = ""
    """What the client wants to see of the objects of a table."""

    def answer(self, response: Response, *, is_stored: bool) -> Response:
        """An answer in this form; failures and successes that are no objects are only written differently.

        Views are made of objects as they are stored, which is what the answer holds or can be turned into.
        """
        tree = _decoder.decode(response.body)
        if self.form.view and tree.get("kind") != "Status":
            is_whole = not is_stored and self.subresource != "scale"
            tree = self._viewed(views.inward(self.kind, tree) if is_whole else tree)
        return in_media(response, tree, self.form.media)

    @property
    def wants_stored(self) -> bool:
        """Whether the answer had better hold objects as they are stored."""
        return bool(self.form.view) and self.kind.custom is None and self.subresource != "scale"

    def _viewed(self, tree: Tree) -> Tree:
        is_list = "items" in tree and tree.get("kind") == self.kind.list_kind
        wanted, version = self.form.view, self.form.version
        metadata = {key: value for key, value in (tree.get("metadata") or {}).items() if value != ""}
        if wanted == TABLE:
            trees = tree["items"] if is_list else [tree]
            head = metadata if is_list else _revision(metadata)
            shown = included(self.include)
            return table(self.kind, trees, head, version=version, include=shown, subresource=self.subresource)
        if is_list != (wanted == PARTIAL_LIST):
            if not is_list and self.kind.custom is not None:
                raise internal("content is not a list")
            what = "a list" if is_list else "not a list"
            name = _go_name(self.kind, is_list=is_list)
            raise cannot_show(f"you requested {wanted}, but the requested object is {what} ({name})")
        if not is_list:
            return partial(tree, version)
        items = [partial(each, version) for each in tree["items"]]
        head = {"kind": PARTIAL_LIST, "apiVersion": f"meta.k8s.io/{version}", "metadata": metadata}
        return head | {"items": items or None}

    @property
    def shows_events(self) -> bool:
        """Whether single objects have this form."""
        return self.form.view in (TABLE, PARTIAL)

    def event(self, body: bytes, *, is_first: bool) -> bytes:
        """The object of a watch's event in this form."""
        tree = _decoder.decode(body)
        if self.form.view == PARTIAL:
            return msgspec.json.encode(partial(tree, self.form.version))
        head, shown = _revision(tree.get("metadata") or {}), included(self.include)
        viewed = table(self.kind, [tree], head, version=self.form.version, include=shown, with_columns=is_first)
        return msgspec.json.encode(viewed)


def _revision(metadata: Tree) -> Tree:
    return {"resourceVersion": metadata["resourceVersion"]} if metadata.get("resourceVersion") else {}


def in_media(response: Response, tree: Tree, media: str) -> Response:
    """An answer with this tree, in a media type."""
    body = yaml.safe_dump(tree, default_flow_style=False).encode() if media == YAML else msgspec.json.encode(tree)
    return Response(response.status, body, {**response.headers, "content-type": media})


def rewritten(response: Response, media: str) -> Response:
    """An answer in JSON as another media type has it."""
    if response.headers.get("content-type") == media:
        return response
    return in_media(response, _decoder.decode(response.body), media)


def _go_name(kind: Kind, *, is_list: bool) -> str:
    """The type that the server has for the kind, as it tells clients who asked for something else."""
    suffix = "List" if is_list else ""
    if kind.custom is not None:
        return f"*unstructured.Unstructured{suffix}"
    group = kind.storage.group.partition(".")[0] or "core"
    return f"*{group}.{kind.resource.kind}{suffix}"
