"""Lists and watches: which version is meant, which objects match, which page comes next."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right

import msgspec
from msgspec import Struct

from fairlead.sim.errors import (
    CONTINUE_EXPIRED,
    StatusError,
    bad_request,
    expired,
    invalid_options,
    not_allowed,
    quoted,
    too_large_version,
    unsupported,
)
from fairlead.sim.registry import Kind
from fairlead.sim.selectors import is_unselective, matcher
from fairlead.sim.store import Store, Version, Watcher

_MATCHES = ("Exact", "NotOlderThan")


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
    """Where the next page starts: just after `start`, in the list as it was at `rv`."""

    rv: int
    start: str
    v: str = "meta.k8s.io/v1"


def select(store: Store, kind: Kind, query: Query) -> Listed:
    """The page that the query asks for."""
    _check(query)
    revision, after = _position(store, query)
    match = matcher(kind, query.namespace, query.labels, query.fields)

    def pick(versions: list[Version]) -> list[Version]:
        return versions if match is None else [version for version in versions if match(version)]

    table = store.table(kind.storage)
    at = store.revision if revision is None else revision
    if not query.limit and not after:
        return Listed(pick(table.at(revision)), at)
    try:
        found = table.frozen(at, (query.namespace, query.labels, query.fields), pick)
    except StatusError as error:
        raise expired(CONTINUE_EXPIRED) if after else error from None
    start = _first_after(found, after)
    end = start + query.limit if query.limit else len(found)
    if end >= len(found):
        return Listed(found[start:], at)
    token = _Token(at, "\0".join(found[end - 1].key))
    text = base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")
    remaining = len(found) - end if is_unselective(query.labels, query.fields) else None
    return Listed(found[start:end], at, text, remaining)


def _first_after(versions: list[Version], after: str) -> int:
    """Index of the first version whose key comes after; 0 without one."""
    if not after:
        return 0
    namespace, _, name = after.partition("\0")
    return bisect_right(versions, (namespace, name), key=lambda version: version.key)


def _position(store: Store, query: Query) -> tuple[int | None, str]:
    """The revision to list at (None: the newest) and the key after which the page starts."""
    if query.continue_token:
        token = _decoded(query.continue_token)
        return token.rv, token.start
    wanted = number(query.resource_version)
    if wanted > store.revision:
        raise too_large_version(wanted, store.revision)
    # Without a word on how to match, a paged list means exactly that version.
    exact = query.match == "Exact" or (not query.match and query.limit > 0)
    return (wanted if wanted and exact else None), ""


def _decoded(text: str) -> _Token:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(raw, type=_Token)
    except (binascii.Error, msgspec.DecodeError):
        raise bad_request("invalid continue token: continue key is not valid: encoded in an unknown format") from None


def _check(query: Query) -> None:
    if query.match and query.match not in _MATCHES:
        causes = [unsupported("resourceVersionMatch", query.match, (*_MATCHES, ""))]
    elif query.match and query.continue_token:
        causes = [not_allowed("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")]
    elif query.match and not query.resource_version:
        text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        causes = [not_allowed("resourceVersionMatch", text)]
    elif query.match == "Exact" and query.resource_version == "0":
        text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        causes = [not_allowed("resourceVersionMatch", text)]
    else:
        return
    raise invalid_options("ListOptions", causes)


def number(resource_version: str) -> int:
    """A resource version as a number; 0 where any will do."""
    if not resource_version:
        return 0
    if not resource_version.isdecimal():
        shown = quoted(resource_version)
        why = f"strconv.ParseUint: parsing {shown}: invalid syntax"
        raise bad_request(f"invalid resource version: resourceVersion: Invalid value: {shown}: {why}")
    return int(resource_version)


def watch(store: Store, kind: Kind, query: Query, lag: tuple[float, float]) -> Watcher:
    """A watcher for the query; 410 when the version to resume at is too old."""
    if query.initial_events is not None and query.match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise invalid_options("ListOptions", [not_allowed("resourceVersionMatch", text)])
    if query.initial_events is None and query.match:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes = [not_allowed("resourceVersionMatch", text)]
        if query.match != "NotOlderThan":
            causes.append(unsupported("resourceVersionMatch", query.match, ("NotOlderThan",)))
        raise invalid_options("ListOptions", causes)
    since = number(query.resource_version)
    with_state = query.initial_events if query.initial_events is not None else since == 0
    match = matcher(kind, query.namespace, query.labels, query.fields)
    table = store.table(kind.storage)
    if with_state:
        return table.watch(None, match, lag)
    return table.watch(since or store.revision, match, lag)
