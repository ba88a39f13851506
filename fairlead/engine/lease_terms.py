"""The version of the process on its first Lease: who holds it, and who may not (`decide/downgrade`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from structlog.types import FilteringBoundLogger

from fairlead.engine.decide.downgrade import REFUSED, is_downgrade, noted, refusal, unknown_storage
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.options import OperatorOptions
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import KubeError, NotFound
from kubeloop.events import Recorder
from kubeloop.objects.meta import Ref

READ_SECONDS = 5.0


class VersionTerms:
    """Of one process; the client is one without a gate, because who stands for election does not lead."""

    def __init__(self, options: OperatorOptions, client: Client, log: FilteringBoundLogger) -> None:
        self._options = options
        self._policy = options.versions
        self._client = client
        self._recorder = Recorder(client.uncounted(), options.process, options.identity)
        self._log = log
        self._registered = False
        self._told = ""

    def registered(self) -> None:
        """This version has led, and its kinds are as it needs them."""
        self._registered = True

    @property
    def told(self) -> str:
        """Why the Lease was left alone when it was free last; empty: it was not."""
        return self._told

    async def refusal(self, lease: Ref, annotations: Mapping[str, str]) -> str:
        why = await self._refusal(annotations)
        if why and why != self._told:
            self._log.warning("the Lease is left alone", lease=str(lease), error=why)
            self._recorder.tell(lease, True, REFUSED, why)
            await self._recorder.flush()
        self._told = why
        return why

    def annotations(self, found: Mapping[str, str]) -> Mapping[str, str]:
        return noted(self._policy.own, found, registered=self._registered, lowers=self._policy.allow_downgrade)

    async def _refusal(self, annotations: Mapping[str, str]) -> str:
        if not is_downgrade(self._policy.own, annotations):
            return ""
        if not self._policy.allow_downgrade:
            return refusal(self._policy.own, annotations)
        try:
            return unknown_storage([each async for each in self._definitions()])
        except KubeError as error:
            return f"which versions objects are stored in cannot be read: {error}"

    async def _definitions(self) -> AsyncIterator[tuple[str, str, frozenset[str]]]:
        """Of the kinds that this process registers: name, storage version as it is live, and versions known here."""
        for each in self._options.parts:
            if not each.contract.registers or each.contract.kinds is None:
                continue
            for own in each.contract.kinds.get()():
                name = own["metadata"]["name"]
                live = await self._read(name)
                if live is not None:
                    known = frozenset(version["name"] for version in own["spec"]["versions"])
                    yield name, _storage(live), known

    async def _read(self, name: str) -> dict[str, Any] | None:
        try:
            answer = await self._client.within(READ_SECONDS).call(request.get(Ref(DEFINITIONS, "", name)))
        except NotFound:
            return None
        found: dict[str, Any] = msgspec.json.decode(answer.body)
        return found


def _storage(definition: dict[str, Any]) -> str:
    return next((each["name"] for each in definition["spec"]["versions"] if each.get("storage")), "")
