"""What requests that read want to know: one object, a page of a list, a watch."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from kubeloop.request import Request, Response
from kubesim.admission.questions import Admission
from kubesim.api.verbs import Verbs
from kubesim.discovery.negotiation import Form
from kubesim.errors import bad_request, quoted, too_large_version
from kubesim.kinds import views
from kubesim.kinds.converting import answered, shown
from kubesim.kinds.registry import NAMESPACES, Kind
from kubesim.reads.listing import Query, number
from kubesim.requests.forms import Dress
from kubesim.requests.paths import Target
from kubesim.requests.watching import Watch, Wish
from kubesim.store.versions import Tree
from kubesim.strategies import subresources

JSON = {"content-type": "application/json"}
_LARGEST = 2**63
_OLD = "watch"
_UNLIMITED = ("attach", "exec", "log", "portforward", "proxy")
_NUMBER_AND_UNIT = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)([^0-9.]*)")
_UNITS = ("ns", "us", "\u00b5s", "\u03bcs", "ms", "s", "m", "h")


class Reading:
    """Answers from what is stored."""

    def __init__(self, verbs: Verbs, admission: Admission) -> None:
        self._verbs = verbs
        self._admission = admission

    async def one(self, target: Target, options: Mapping[str, str], *, as_stored: bool = False) -> Response:
        """An object, or its Scale; on demand as it is stored."""
        kind, convert = target.kind, self._admission.converter
        wanted = number(options.get("resourceVersion", ""))
        if wanted > self._verbs.store.revision:
            raise too_large_version(wanted, self._verbs.store.revision)
        version = self._verbs.current(kind, target.namespace, target.name)
        if target.subresource == "scale":
            scale = subresources.scale_shown(kind, await answered(shown(kind, version), convert))
            return Response(200, msgspec.json.encode(scale), JSON)
        return Response(200, version.body if as_stored else await views.body(kind, version, convert), JSON)

    async def page(self, target: Target, options: Mapping[str, str], *, as_stored: bool = False) -> Response:
        """A list, or a page of it; on demand with objects as they are stored."""
        kind = target.kind
        listed = self._verbs.select(kind.resource, query_of(target, options))
        metadata: Tree = {"resourceVersion": str(listed.revision)}
        # Lists of custom resources say that there is no more, others say nothing then.
        if listed.continue_token or kind.custom is not None:
            metadata["continue"] = listed.continue_token
        if listed.remaining is not None:
            metadata["remainingItemCount"] = listed.remaining
        head = {"kind": kind.list_kind, "apiVersion": kind.resource.api_version, "metadata": metadata}
        # One by one, as the server decodes them: a list is as many questions as it has objects of other versions.
        if as_stored:
            bodies = [version.body for version in listed.versions]
        else:
            bodies = [await views.item(kind, version, self._admission.converter) for version in listed.versions]
        items = b",".join(_item(kind, body) for body in bodies)
        return Response(200, msgspec.json.encode(head)[:-1] + b',"items":[' + items + b"]}", JSON)

    def watch(self, target: Target, options: Mapping[str, str], form: Form, lag: tuple[float, float]) -> Watch:
        """An open watch of a collection."""
        dress = None if form.is_plain else Dress(form, target.kind, "", options.get("includeObject", ""))
        seconds = float(number_of(options, "timeoutSeconds"))
        wish = Wish(flag_of(options, "allowWatchBookmarks") or False, seconds, lag, dress)
        return Watch(self._verbs.store, target.kind, query_of(target, options), wish, self._admission.converter)


def modern(request: Request) -> Request:
    """A watch at a path of its own, as old clients ask for it, as the watch of a collection that it means."""
    if f"/{_OLD}/" not in request.path:
        return request
    match request.path.strip("/").split("/"):
        case ["api", version, "watch", *rest] if rest:
            prefix, below = f"/api/{version}", rest
        case ["apis", group, version, "watch", *rest] if rest:
            prefix, below = f"/apis/{group}/{version}", rest
        case _:
            return request
    query = (*request.query, (_OLD, "true"))
    is_inside = below[0] == "namespaces" and len(below) > 2
    place, name = (below[:3], below[3:]) if is_inside else (below[:1], below[1:])
    if len(name) == 1:
        query = (("fieldSelector", f"metadata.name={name[0]}"), *query)
    if len(name) > 1 or request.method != "GET":
        return request
    return msgspec.structs.replace(request, path="/".join([prefix, *place]), query=query)


def options_of(request: Request) -> dict[str, str]:
    """The parameters of a request; of one that is given twice, the first."""
    return dict(reversed(request.query))


def check_deadline(request: Request) -> None:
    """Refuses a time within which the answer is wanted that is none; connections and logs take as long as they take."""
    value = options_of(request).get("timeout", "") if request.query else ""
    if value and request.path.rpartition("/")[2] not in _UNLIMITED and (why := _duration_problem(value)):
        raise bad_request(f"invalid timeout specified in the request URL - time: {why} {quoted(value)}")


def _duration_problem(text: str) -> str:
    """Why a text is no duration, as Go's library says it; empty when it is one."""
    rest = text[1:] if text[0] in "+-" else text
    if rest == "0":
        return ""
    if not rest:
        return "invalid duration"
    while rest:
        found = _NUMBER_AND_UNIT.match(rest)
        if found is None:
            return "invalid duration"
        unit, rest = found[1], rest[found.end() :]
        if unit not in _UNITS:
            return f"unknown unit {quoted(unit)} in duration" if unit else "missing unit in duration"
    return ""


def query_of(target: Target, options: Mapping[str, str]) -> Query:
    """The options of a list or watch."""
    # The namespaces themselves lie in none.
    namespace = "" if target.kind.resource == NAMESPACES else target.namespace
    number_of(options, "timeoutSeconds")
    return Query(
        namespace=namespace,
        labels=options.get("labelSelector", ""),
        fields=options.get("fieldSelector", ""),
        limit=number_of(options, "limit"),
        continue_token=options.get("continue", ""),
        resource_version=options.get("resourceVersion", ""),
        match=options.get("resourceVersionMatch", ""),
        initial_events=flag_of(options, "sendInitialEvents"),
    )


def flag_of(options: Mapping[str, str], name: str) -> bool | None:
    """Whether an option is set, None when it is not given; whatever does not say no says yes."""
    value = options.get(name)
    return None if value is None else value.lower() not in ("0", "false")


def number_of(options: Mapping[str, str], name: str) -> int:
    """A number of 64 bits, 0 when it is not given."""
    text = options.get(name)
    if text is None:
        return 0
    if not (text.isascii() and text.removeprefix("-").isdecimal()):
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")
    value = int(text)
    if not -_LARGEST <= value < _LARGEST:
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: value out of range")
    return value


def _item(kind: Kind, body: bytes) -> bytes:
    """An object inside a list, which says once for all what kind its items are; custom resources say it each."""
    if kind.custom is not None:
        return body
    opening = f'{{"kind":"{kind.resource.kind}","apiVersion":"{kind.resource.api_version}",'.encode()
    return b"{" + body[len(opening) :] if body.startswith(opening) else body
