"""Where a certificate and its key are read: a Secret, or files in a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, structs

from fairlead.engine.certificates.whole_secret import read_secret
from fairlead.engine.decide.rotation_snapshot import AUTHORITY, KEY, LEAF
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.informer import Change
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Meta, Ref

READ_SECONDS = 10.0


class NoticedSecret(Struct, frozen=True):
    """All that is kept of a Secret that is watched."""

    metadata: Meta


class GivenEntries(Protocol):
    is_whole: bool
    """Whether all of them change at once; else they may be read half-way."""

    @property
    def where(self) -> str:
        """As people are told."""

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Has it called when they may have changed."""

    async def read(self) -> Mapping[str, bytes] | None:
        """None: there are none; raises KubeError or OSError."""


class SecretEntries:
    """Read from the API: what is mounted into a pod lags behind by a minute."""

    is_whole = True

    def __init__(self, client: Client, caches: Caches, secret: Ref) -> None:
        self._client = client.within(READ_SECONDS)
        self._secret = structs.replace(secret, uid="")
        self._informer = caches.informer(
            SECRETS, NoticedSecret, namespace=secret.namespace, fields=f"metadata.name={secret.name}", optional=True
        )

    @property
    def where(self) -> str:
        return f"Secret {self._secret.namespace}/{self._secret.name}"

    def subscribe(self, changed: Callable[[], None]) -> None:
        def noticed(_: Change[NoticedSecret]) -> None:
            changed()

        self._informer.subscribe(noticed)

    async def read(self) -> Mapping[str, bytes] | None:
        found = await read_secret(self._client, self._secret)
        return None if found is None else found.data


class FileEntries:
    """Files by the same names; nothing tells when they change."""

    is_whole = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def where(self) -> str:
        return f"{LEAF} in the folder {self._folder}"

    def subscribe(self, _: Callable[[], None]) -> None:
        return

    async def read(self) -> Mapping[str, bytes] | None:
        return await asyncio.to_thread(self._read)

    def _read(self) -> Mapping[str, bytes] | None:
        found = {}
        for name in (LEAF, KEY, AUTHORITY):
            try:
                found[name] = (self._folder / name).read_bytes()
            except FileNotFoundError:
                continue
        return found or None
