"""An informer of something that a cluster need not have, or need not show us: nothing waits for it for ever.

A resource that is not served or not permitted counts as known to be absent; it is asked for again at least every 30
seconds, and taken up when it is there. What was seen before it was withheld stays in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from kubeloop.client import Client
from kubeloop.errors import Forbidden, KubeError, NotFound
from kubeloop.informer import Informer
from kubeloop.objects.meta import Resource
from kubeloop.store import Index, T
from kubeloop.watch import LONGEST_DELAY, Listing


class OptionalInformer(Informer[T]):
    def __init__(
        self,
        client: Client,
        resource: Resource,
        into: type[T],
        *,
        namespace: str = "",
        labels: str = "",
        indexes: Mapping[str, Index[T]] = {},
        seed: int | None = None,
        trouble: Callable[[Exception], None] | None = None,
        restored: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(
            client,
            resource,
            into,
            namespace=namespace,
            labels=labels,
            indexes=indexes,
            seed=seed,
            trouble=trouble,
            restored=restored,
        )
        self.settled = asyncio.Event()
        """Set once it is known what there is, be it that nothing can be had."""
        self.is_absent = False
        """Whether the last answer that says something of it was `not found` or `forbidden`."""

    async def _recover(self, error: KubeError) -> None:
        if isinstance(error, NotFound | Forbidden):
            self.is_absent = True
            self.settled.set()
        await super()._recover(error)

    async def _pause(self, seconds: float) -> None:
        await super()._pause(min(seconds, LONGEST_DELAY) if self.is_absent else seconds)

    def _replace(self, found: Listing[T]) -> None:
        super()._replace(found)
        self.is_absent = False
        self.settled.set()
