"""Lists and watches: which version is meant, which objects match, which page comes next."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left
from collections.abc import Callable

import msgspec
from msgspec import Struct

from kubesim.bodies import go_json
from kubesim.errors import (
    CONTINUE_EXPIRED,
    Cause,
    StatusError,
    bad_request,
    expired,
    internal,
    invalid_options,
    not_allowed,
    quoted,
    too_large_version,
    unsupported,
)
from kubesim.kinds.registry import Kind
from kubesim.reads.selectors import is_unselective, matcher, names_one
from kubesim.store.store import Store, Table
from kubesim.store.versions import Version
from kubesim.store.watchers import Watcher

EXACT, NOT_OLDER = "Exact", "NotOlderThan"
_ENCODING = "meta.k8s.io/v1"
_NEWEST = -1
"""In a token: go on in the list as it is by now."""
_EXPIRED = "The resourceVersion for the provided list is too old."
_INCONSISTENT = (
    f"{CONTINUE_EXPIRED[:-1]}, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class Query(Struct, frozen=True):
    """The options of a list or watch."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    match: str = ""
    initial_events: bool | None = None


class Listed(Struct, frozen=True):
    """One page of a list."""

    versions: list[Version]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


class _Token(Struct, frozen=True):
    """Where the next page starts, in the list as it was at `rv`."""

    v: str = ""
    rv: int = 0
    start: str = ""

    def text(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


class _Outdated(StatusError):
    """A token for a list that is forgotten; it brings one for the list as it is."""

    def __init__(self, token: _Token) -> None:
        super().__init__(expired("").code, expired("").reason, _INCONSISTENT)
        self._token = token

    def status(self) -> dict[str, object]:
        return super().status() | {"metadata": {"continue": self._token.text()}}


def select(store: Store, kind: Kind, query: Query) -> Listed:
    """The page that the query asks for."""
    if causes := _list_causes(query):
        raise invalid_options("ListOptions", causes)
    revision, after = _position(store, kind, query)
    is_everywhere = kind.resource.namespaced and not query.namespace
    pick = _picker(kind, query, is_everywhere=is_everywhere)
    table = store.table(kind.storage)
    at = store.revision if revision is None else revision
    # What may come from a cache comes whole.
    limit = 0 if query.resource_version == "0" and not query.continue_token else max(query.limit, 0)
    try:
        if not limit and not after:
            return Listed(pick(table.at(revision)), at)
        found = table.frozen(at, (query.namespace, query.labels, query.fields), pick)
        last = _last(table, kind, query, at, found)
    except StatusError as error:
        if error.code != expired("").code:
            raise
        raise _Outdated(_Token(_ENCODING, _NEWEST, after)) if after else expired(_EXPIRED) from None
    name = _path if is_everywhere else _name
    start = bisect_left(found, after.removeprefix("/"), key=name) if after else 0
    end = start + limit if limit else len(found)
    page = found[start:end]
    if not limit or len(page) < limit or page[-1] is last:
        return Listed(page, at)
    token = _Token(_ENCODING, at, f"/{name(page[-1])}\0")
    remaining = len(found) - end if is_unselective(query.labels, query.fields) else None
    return Listed(page, at, token.text(), remaining)


def _picker(kind: Kind, query: Query, *, is_everywhere: bool) -> Callable[[list[Version]], list[Version]]:
    """Picks what the query asks for out of all objects of the kind."""
    match = matcher(kind, query.namespace, query.labels, query.fields)

    def pick(versions: list[Version]) -> list[Version]:
        found = versions if match is None else [version for version in versions if match(version)]
        # Objects of all namespaces come in the order of their paths, in which `a-b/x` is before `a/x`.
        return sorted(found, key=_path) if is_everywhere else found

    return pick


def _last(table: Table, kind: Kind, query: Query, at: int, found: list[Version]) -> Version | None:
    """After which object there is no other page.

    The server fills pages while it goes through all objects there are: until it has come to the last, it does not know
    whether another one will match. One that is asked for by name it takes directly.
    """
    if is_unselective(query.labels, query.fields) or _is_taken_directly(kind, query):
        return found[-1] if found else None
    whole = Query(namespace=query.namespace)
    is_everywhere = kind.resource.namespaced and not query.namespace
    everything = table.frozen(at, (query.namespace, "", ""), _picker(kind, whole, is_everywhere=is_everywhere))
    return everything[-1] if everything else None


def _path(version: Version) -> str:
    return "/".join(version.key)


def _name(version: Version) -> str:
    return version.key[1]


def _is_taken_directly(kind: Kind, query: Query) -> bool:
    """Whether the server takes the one object that is meant without looking for others."""
    return not query.continue_token and names_one(kind, query.namespace, query.fields)


def _position(store: Store, kind: Kind, query: Query) -> tuple[int | None, str]:
    """The revision to list at (None: the newest) and where the page starts."""
    if query.continue_token:
        token = _decoded(query.continue_token)
        if query.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        return (None if token.rv == _NEWEST else token.rv), token.start
    wanted = _number(query.resource_version)
    if wanted > store.revision:
        raise too_large_version(wanted, store.revision)
    # Without a word on how to match, a paged list means exactly that version; one by name has no pages.
    exact = query.match == EXACT or (not query.match and query.limit > 0 and not _is_taken_directly(kind, query))
    return (wanted if wanted and exact else None), ""


def _decoded(text: str) -> _Token:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise _bad_token(f"illegal base64 data at input byte {_first_illegal(text)}") from None
    try:
        token = msgspec.json.decode(raw, type=_Token)
    except msgspec.DecodeError as error:
        raise _bad_token(go_json.problem(raw) or str(error)) from None
    if token.v != _ENCODING:
        raise _bad_token(f"server does not recognize this encoded version {token.v}")
    if not token.rv:
        raise _bad_token(f"incorrect encoded start resourceVersion (version {_ENCODING})")
    if not token.start:
        raise _bad_token(f"encoded start key empty (version {_ENCODING})")
    return token


def _first_illegal(text: str) -> int:
    """Where a text stops to be base64; one that ends too early stops where its last group begins."""
    for index, sign in enumerate(text):
        if not (sign.isascii() and (sign.isalnum() or sign in "-_")):
            return index
    return len(text) // 4 * 4


def _bad_token(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def _forbidden(text: str) -> Cause:
    return not_allowed("resourceVersionMatch", text)


def _list_causes(query: Query) -> list[Cause]:
    """Options of a list that do not go together."""
    causes: list[Cause] = []
    if query.match:
        if not query.resource_version:
            causes.append(_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if query.continue_token:
            causes.append(_forbidden("resourceVersionMatch is forbidden when continue is provided"))
        if query.match not in (EXACT, NOT_OLDER):
            causes.append(unsupported("resourceVersionMatch", query.match, (EXACT, NOT_OLDER, "")))
        if query.match == EXACT and query.resource_version == "0":
            causes.append(_forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if query.initial_events is not None:
        causes.append(not_allowed("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def begins_with_state(query: Query) -> bool:
    """Whether a watch tells of all objects first, because it asks for that or names no version to begin at."""
    if query.initial_events is not None or query.match:
        return query.initial_events is True
    return query.resource_version in ("", "0")


def _watch_causes(query: Query) -> list[Cause]:
    """The same for a watch."""
    causes: list[Cause] = []
    match, initial = query.match, query.initial_events
    if initial is None and begins_with_state(query):
        match, initial = NOT_OLDER, True
    if initial is not None and match != NOT_OLDER:
        causes.append(_forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match:
        if initial is None:
            text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.append(_forbidden(text))
        if match != NOT_OLDER:
            causes.append(unsupported("resourceVersionMatch", match, (NOT_OLDER,)))
        if query.continue_token:
            causes.append(_forbidden("resourceVersionMatch is forbidden when continue is provided"))
    return causes


def _number(resource_version: str) -> int:
    """A resource version as a number; 0 where any will do."""
    try:
        return number(resource_version)
    except StatusError as error:
        raise bad_request(f"invalid resource version: {error.message}") from None


def number(resource_version: str) -> int:
    """The same where a version that is none is no fault of the request alone."""
    if not resource_version:
        return 0
    if not (resource_version.isascii() and resource_version.isdecimal()):
        shown = quoted(resource_version)
        why = f"strconv.ParseUint: parsing {shown}: invalid syntax"
        raise internal(f"resourceVersion: Invalid value: {shown}: {why}")
    return int(resource_version)


def watch(store: Store, kind: Kind, query: Query, lag: tuple[float, float]) -> Watcher:
    """A watcher for the query; 410 when the version to resume at is too old."""
    if causes := _watch_causes(query):
        raise invalid_options("ListOptions", causes)
    since = number(query.resource_version)
    with_state = query.initial_events if query.initial_events is not None else since == 0
    match = matcher(kind, query.namespace, query.labels, query.fields)
    table: Table = store.table(kind.storage)
    if not with_state:
        return table.watch(since or store.revision, match, lag)
    if since > store.revision:
        raise too_large_version(since, store.revision)
    return table.watch(None, match, lag)
