"""A port and the certificate that it is served with."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from fairlead.engine.certificates.ca_injection import Injector
from fairlead.engine.certificates.served import Certificates
from fairlead.engine.serving.plain_paths import EVERYWHERE


class Secured(Struct, frozen=True):
    port: int
    certificates: Certificates
    observer: Injector | None = None
    """Sees the registrations where the certificates do not."""
    host: str = EVERYWHERE

    async def run(self) -> None:
        """Returns when the process is to end because its certificate has expired."""
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self.observer.run()) if self.observer is not None else None
            await self.certificates.run()
            if watching is not None:
                watching.cancel()
