"""From what a client accepts to the form of an answer.

The server offers JSON and YAML, the whole object or a view of it: a table, or the metadata alone. Clients list what
they can read, the best first; what the server cannot write is passed over. Protobuf counts as something that it can
write and is answered in JSON, which every client of the API reads as well.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from kubeloop.request import Request
from kubesim.errors import StatusError

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
OFFERED = (JSON, YAML, PROTOBUF)
STREAMED = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")

TABLE = "Table"
PARTIAL = "PartialObjectMetadata"
PARTIAL_LIST = "PartialObjectMetadataList"
GROUPS = "APIGroupDiscoveryList"

_META = "meta.k8s.io"
_DISCOVERY = ("apidiscovery.k8s.io", "v2", GROUPS)
_VERSIONS = ("v1", "v1beta1")


class Form(Struct, frozen=True):
    """How an answer is written."""

    media: str = JSON
    view: str = ""
    """What is shown of the object: Table, PartialObjectMetadata...; empty for all of it."""
    version: str = ""
    """Of the group of the view."""

    @property
    def is_plain(self) -> bool:
        """Whether it is what the server writes without being asked."""
        return self == PLAIN


PLAIN = Form()


class _Clause(Struct, frozen=True):
    """One thing that a client accepts."""

    media: str
    quality: float
    parameters: tuple[tuple[str, str], ...]


def accepted(request: Request) -> str:
    """What the client says that it accepts; empty for anything."""
    for name, value in request.headers:
        if name.lower() == "accept":
            return value
    return ""


def object_form(accept: str, *, routed: tuple[str, ...] = OFFERED, is_custom: bool = False) -> Form:
    """The form for objects and lists of them; 406 where nothing that is accepted can be written.

    The path of a built-in kind has a list of media types that it is `routed` by, which is looked at first and knows of
    no wildcards but one; custom resources have none, and no protobuf.
    """
    if accept in ("", JSON, "*/*"):
        return PLAIN
    if not is_custom:
        _route(accept, routed)
    found = _chosen(accept, "objects", is_custom)
    if found is None:
        raise not_acceptable(OFFERED)
    return found


def watch_form(accept: str, *, is_custom: bool = False) -> Form:
    """The same for a watch, which is written in JSON alone."""
    form = object_form(accept, routed=(*OFFERED, *STREAMED), is_custom=is_custom)
    if form.media == YAML:
        raise not_acceptable(STREAMED)
    return form


def document_form(accept: str, *, is_grouped: bool = False) -> Form:
    """The form for what the server says of itself; `is_grouped` where all groups can be told at once."""
    if accept in ("", JSON, "*/*"):
        return PLAIN
    found = _chosen(accept, "groups" if is_grouped else "documents", False)
    if found is None:
        raise not_acceptable(OFFERED)
    return found


def refusal_media(accept: str) -> str:
    """What a failure is written in; it is told in JSON to who accepts nothing."""
    if accept in ("", JSON, "*/*"):
        return JSON
    found = _chosen(accept, "refusals", False)
    return JSON if found is None else found.media


def route_json(accept: str) -> None:
    """For paths that are served in JSON alone."""
    if accept not in ("", JSON, "*/*"):
        _route(accept, (JSON,))


def _route(accept: str, routed: tuple[str, ...]) -> None:
    offered = (part.partition(";")[0].strip() for part in accept.split(","))
    if not any(media == "*/*" or media in routed for media in offered):
        text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(routed)}"
        raise StatusError(406, "NotAcceptable", text, {})


def not_acceptable(offered: tuple[str, ...]) -> StatusError:
    return cannot_show(f"only the following media types are accepted: {', '.join(offered)}")


def cannot_show(why: str) -> StatusError:
    return StatusError(406, "NotAcceptable", why)


@lru_cache(maxsize=256)
def _chosen(accept: str, what: str, is_custom: bool) -> Form | None:
    """The best form that is accepted and can be written."""
    clauses = sorted(_clauses(accept), key=lambda clause: (-clause.quality, clause.media.count("*")))
    for clause in clauses:
        for media in OFFERED:
            if clause.media not in (media, "application/*", "*/*"):
                continue
            form = _form(media, dict(clause.parameters), what, is_custom)
            if form is not None:
                return form
    return None


def _clauses(accept: str) -> list[_Clause]:
    found: list[_Clause] = []
    for part in accept.split(","):
        media, *options = (piece.strip() for piece in part.split(";"))
        media = "*/*" if media == "*" else media
        if media.count("/") != 1:
            continue
        pairs = [(key.strip(), value) for key, _, value in (option.partition("=") for option in options) if value]
        quality = dict(pairs).get("q", "1")
        parameters = tuple(pair for pair in pairs if pair[0] != "q")
        found.append(_Clause(media, float(quality) if _is_number(quality) else 0.0, parameters))
    return found


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _form(media: str, parameters: dict[str, str], what: str, is_custom: bool) -> Form | None:
    """The form that a clause asks for, in one of the offered media types; None where it cannot be had."""
    stream = parameters.get("stream")
    if stream and (stream != "watch" or media == YAML):
        return None
    if parameters.get("sv"):
        return None
    written = YAML if media == YAML else JSON
    if not any(key in parameters for key in ("as", "g", "v")):
        return None if is_custom and media == PROTOBUF else Form(written)
    group, version, view = (parameters.get(key, "") for key in ("g", "v", "as"))
    match what:
        case "objects" if group == _META and version in _VERSIONS:
            known = view in (PARTIAL, PARTIAL_LIST) or (view == TABLE and media != PROTOBUF)
        case "groups":
            known = (group, version, view) == _DISCOVERY and media != YAML
        case "refusals":
            return Form(written)
        case _:
            known = False
    return Form(written, view, version) if known else None
