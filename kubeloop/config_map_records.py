"""Records in ConfigMaps: for journals that people may look at, and that outlive whoever writes them.

A record is named `CONFIGMAP/ENTRY`. What else is in the ConfigMap stays; its version is that of the record, so that of
two writers of any entry one is told that it came too late.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from kubeloop import request
from kubeloop.client import Client
from kubeloop.decoding import decoded
from kubeloop.errors import Conflict, NotFound
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.records import Outdated, ReadOnly, Recorded, TooLarge
from kubeloop.request import Request

LARGEST = 900 * 1024
"""Bytes of a value; the API server takes a megabyte of all of them."""
_ABSENT = "absent"


class _Meta(Struct, rename="camel"):
    resource_version: str
    uid: str


class _ConfigMap(Struct):
    metadata: _Meta
    data: dict[str, str] | None = None


class ConfigMapRecords:
    """Of one namespace; ConfigMaps that are made here get the labels."""

    def __init__(self, client: Client, namespace: str, labels: Mapping[str, str] = {}) -> None:
        self._client = client
        self._namespace = namespace
        self._labels = labels
        self._seen: dict[str, tuple[str, dict[str, Any]]] = {}
        """Each as it was last read or written, with its version: a replacement must keep the rest of it."""

    async def get(self, key: str) -> Recorded:
        name, _, entry = key.partition("/")
        try:
            found = await self._send(request.get(self._ref(name)), name)
        except NotFound:
            return Recorded(version=_ABSENT)
        return Recorded((found.data or {}).get(entry, "").encode(), _version(found))

    async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
        """`lasts` is not kept: journals stay until somebody removes them."""
        if len(value) > LARGEST:
            raise TooLarge(f"record {key} would have {len(value)} bytes, and {LARGEST} is the most that can be kept")
        name, _, entry = key.partition("/")
        try:
            return _version(await self._send(self._write(name, entry, version, value), name))
        except NotFound as error:
            if version == _ABSENT:
                raise
            raise Outdated(f"record {key} has changed: {error}") from error
        except Conflict as error:
            raise Outdated(f"record {key} has changed: {error}") from error

    def _write(self, name: str, entry: str, version: str, value: bytes) -> Request:
        if version == _ABSENT:
            made: dict[str, object] = {
                "apiVersion": CONFIGMAPS.api_version,
                "kind": CONFIGMAPS.kind,
                "metadata": {"name": name, "namespace": self._namespace, "labels": self._labels},
                "data": {entry: value.decode()} if value else {},
            }
            return request.create(CONFIGMAPS, self._namespace, msgspec.json.encode(made))
        seen, tree = self._seen.get(name, ("", {}))
        if seen != version:
            raise Outdated(f"record {name} was not read")
        if tree.get("immutable"):
            raise ReadOnly(
                f"ConfigMap {self._namespace}/{name} is immutable: delete it, and what it records begins anew"
            )
        data = {**(tree.get("data") or {}), entry: value.decode()}
        if not value:
            del data[entry]
        return request.replace(self._ref(name), msgspec.json.encode({**tree, "data": data}))

    async def _send(self, message: Request, name: str) -> _ConfigMap:
        """A write is not repeated: who is asked to come back later reads the record anew."""
        response = await self._client.call(structs.replace(message, retry_when_throttled=message.method == "GET"))
        found = decoded(response.body, _ConfigMap, message.doing)
        self._seen[name] = (_version(found), decoded(response.body, dict[str, Any], message.doing))
        return found

    def _ref(self, name: str) -> Ref:
        return Ref(CONFIGMAPS, self._namespace, name)


def _version(found: _ConfigMap) -> str:
    return f"{found.metadata.resource_version}:{found.metadata.uid}"
