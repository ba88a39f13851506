"""What a proxy may answer in the API server's place, all of it with status 200."""

from __future__ import annotations

import gzip
import random

DEEP = 100_000

GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "a page": b"<html><body>Sign in to the network</body></html>",
    "bytes that are no text": b"\xff\xfe\x00\x80",
    "a name that is no UTF-8": b'{"metadata": {"name": "\xff", "uid": "\xc3"}, "spec": {"holderIdentity": "\x80"}}',
    "a version that is no UTF-8": b'{"preferredVersion": {"version": "\xff"}, "resources": [{"name": "\xff"}]}',
    "items that are no UTF-8": b'{"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "\xff"}}]}',
    "a status that is no UTF-8": b'{"kind": "Status", "message": "\xff", "reason": "\xff"}',
    "half a body": b'{"metadata": {"name": "a", "resourceVersion": "1',
    "a list where an object belongs": b'[{"metadata": {}}]',
    "a number": b"42",
    "null": b"null",
    "text": b'"ok"',
    "members of other types": b'{"metadata": 1, "spec": [], "items": {}, "resources": 5, "versions": "v1"}',
    "lone surrogates": b'{"metadata": {"name": "\\ud800"}, "spec": {"holderIdentity": "\\udfff"}}',
    "more nesting than can be followed": b'{"metadata": ' + b"[" * DEEP,
    "more nesting in an unknown member": b'{"metadata": {}, "x": ' + b'{"a":' * DEEP,
    "lists in lists": b"[" * DEEP,
    "numbers without end": b'{"metadata": {"generation": '
    + b"9" * 5000
    + b'}, "spec": {"leaseDurationSeconds": 1e999}}',
    "a byte order mark": b"\xef\xbb\xbf" + b'{"metadata": {}}',
    "packed bytes that nobody announced": gzip.compress(b'{"metadata": {}}'),
    "two bodies": b'{"metadata": {}}{"metadata": {}}',
}


def damaged(body: bytes, seed: int) -> bytes:
    """The body with some bytes changed, and perhaps cut off."""
    chance = random.Random(seed)
    made = bytearray(body)
    for _ in range(chance.randint(1, 6)):
        made[chance.randrange(len(made))] = chance.randrange(256)
    return bytes(made[: chance.randrange(len(made))] if chance.random() < 0.3 else made)
