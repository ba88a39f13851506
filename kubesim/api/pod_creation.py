"""Pods that are made in numbers, alike but for their names.

The first of them takes the long way: defaults, admission, rules. What became of it is a pattern for the others, which
are then put together from its pieces, for as long as nothing changes that admission looks at. While webhooks or
policies are about new pods of the namespace, every one of them takes the long way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping

import msgspec
from msgspec import Struct

from kubesim.admission.questions import Admission
from kubesim.api import pod_splicing
from kubesim.api.writer import Writer
from kubesim.auth.rbac import User
from kubesim.kinds.registry import LIMIT_RANGES, NAMESPACES, PODS, PRIORITY_CLASSES, SERVICE_ACCOUNTS
from kubesim.plugins.chain import new_token_volume
from kubesim.rules.volumes import TOKENS
from kubesim.schema.values import label
from kubesim.store.versions import Author, Head, Key, Owner, Tree, Version, timestamp
from kubesim.typed.types import Typed
from kubesim.writes.storing import Writes

_LOOKED_AT = (SERVICE_ACCOUNTS, PRIORITY_CLASSES, LIMIT_RANGES)
_TOKEN = re.compile(rb'"(' + TOKENS.encode() + rb'[a-z0-9]+)"')
_ITS_OWN = (b"matchLabelKeys", b"mismatchLabelKeys", b"schedulingGates")
"""Fields by which a pod's labels, or the time, get into the rest of it."""
_MOST = 10_000
_encode = msgspec.json.Encoder().encode


class _Pattern(Struct, frozen=True):
    """What pods that are alike share; their hostname is their name."""

    seen: tuple[int, ...]
    """The state of what admission looks at."""
    metadata: Tree
    owners: tuple[Owner, ...]
    spec: pod_splicing.Spec
    status: bytes
    has_token: bool


class Births:
    """Makes the pods of controllers; every refusal is a StatusError."""

    def __init__(self, writes: Writes, admission: Admission) -> None:
        self._admission = admission
        self._writes = writes
        self._store = writes.store
        self._table = writes.store.table(PODS)
        self._patterns: dict[Hashable, _Pattern | None] = {}
        """None for pods that are not alike enough."""

    async def create(
        self, alike: Hashable, place: Key, labels: Mapping[str, str], make: Callable[[], Tree], user: User
    ) -> int:
        """Makes a pod and answers with its resource version.

        Pods that are called alike differ in their names, their hostnames, which are their names, and these labels.
        """
        is_reviewed = self._admission.concerns("CREATE", PODS, "", place[0])
        seen = tuple(self._store.table(each).changed for each in _LOOKED_AT)
        pattern = self._patterns.get(alike)
        is_usable = pattern is not None and pattern.seen == seen and not is_reviewed
        if is_usable and pattern is not None and self._is_free(*place):
            return self._made(pattern, place[1], labels, Author(user.name, "create"))
        tree = make()
        write = self._writes.create(PODS, place[0], Typed(tree), user=user.name)
        made = await Writer(self._admission, user).carried_out(write)
        if not is_reviewed and (alike not in self._patterns or pattern is not None):
            self._patterns.pop(alike, None)
            self._patterns[alike] = _pattern(self._table.live[place], _encode(tree), seen)
            if len(self._patterns) > _MOST:
                del self._patterns[next(iter(self._patterns))]
        return int(made["metadata"]["resourceVersion"])

    def _is_free(self, namespace: str, name: str) -> bool:
        """Whether a pod of this name may be made without a word."""
        space = self._store.table(NAMESPACES).live.get(("", namespace))
        is_open = space is not None and space.head.deletion_timestamp is None
        return is_open and (namespace, name) not in self._table.live and not any(label(name))

    def _made(self, pattern: _Pattern, name: str, labels: Mapping[str, str], author: Author) -> int:
        metadata = dict(pattern.metadata)
        namespace, uid = metadata["namespace"], self._writes.new_uid()
        all_labels = metadata["labels"] | labels
        metadata |= {"name": name, "labels": all_labels, "uid": uid, "creationTimestamp": timestamp()}
        token = new_token_volume(self._store).encode() if pattern.has_token else b""
        body = pod_splicing.Body(pod_splicing.metadata_of(metadata), pattern.spec, pattern.status, token)
        head = Head(name, namespace, uid, all_labels, pattern.owners)
        return self._table.born((namespace, name), head, body, author).revision


def _pattern(version: Version, given: bytes, seen: tuple[int, ...]) -> _Pattern | None:
    """What others may be made from that are like this pod; None when too much of it may be its own."""
    pieces, name = pod_splicing.pieces(version, metadata=True), _encode(version.head.name)
    if pieces is None or version.head.finalizers or TOKENS.encode() in given:
        return None
    spec, hostname = pieces.body.spec_text(version.head.name).removesuffix(b"}"), b'"hostname":' + name
    if spec.count(name) != 1 or hostname not in spec or any(word in spec for word in _ITS_OWN):
        return None
    before, _, after = spec.partition(hostname)
    found = _TOKEN.search(spec)
    token = found[1] if found is not None else b""
    shared = pod_splicing.Spec(
        _cut(before + hostname.removesuffix(name) + b'"', token), _cut(b'"' + after, token), pieces.thin["spec"]
    )
    return _Pattern(
        seen, pieces.thin["metadata"], version.head.owner_references, shared, pieces.body.status, bool(token)
    )


def _cut(text: bytes, token: bytes) -> tuple[bytes, ...]:
    return tuple(text.split(token)) if token else (text,)
