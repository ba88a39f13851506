"""A Lease that a command holds while it works, so that two runs of it exclude each other.

One that was killed leaves its Lease behind for as long as that lasts; so the next one waits for a moment before it says
that another run is at work.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from fairlead.engine.command import Precondition
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.election import Election, LostLease
from kubeloop.errors import Forbidden, KubeError, NotFound
from kubeloop.objects.meta import Ref
from kubeloop.rights import lacks_right

T = TypeVar("T")

WAITS_SECONDS = 25.0
"""Longer than the Lease of a run that was killed lasts."""


async def exclusively(
    client: Client,
    lease: Ref,
    work: Callable[[Election], Awaitable[T]],
    told: Callable[[str], object] = lambda _: None,
    labels: Mapping[str, str] = {},
    elsewhere: str = "",
) -> T:
    """What the work comes to, done while the Lease is held; raises Precondition where another run holds it.

    `told` hears who is waited for; a Lease that is made gets the labels; `elsewhere` is what people are advised beside
    where it cannot be had in its namespace. Where the Lease is lost, the work is cancelled
    and LostLease is raised.
    """
    taken = asyncio.Event()
    refused = asyncio.Event()
    results: list[T] = []

    def waits(holder: str, error: KubeError | None) -> None:
        if isinstance(error, NotFound | Forbidden):
            refused.set()
        elif holder:
            told(f"waiting for {holder}, which holds the Lease {lease.name} in namespace {lease.namespace}")

    election = Election(client, lease, identity(), labels=labels, waits=waits)

    async def lead() -> None:
        taken.set()
        results.append(await work(election))

    running = asyncio.create_task(election.run(lead))
    try:
        await _begun(running, taken, refused)
        if not taken.is_set() and not running.done():
            raise Precondition(_why(election, lease, elsewhere))
        await running
    finally:
        running.cancel()
        await asyncio.wait([running])
    return results[0]


async def _begun(running: asyncio.Task[None], taken: asyncio.Event, refused: asyncio.Event) -> None:
    """Until the Lease is held, cannot be, or was waited for long enough."""
    waits = [asyncio.create_task(each.wait()) for each in (taken, refused)]
    try:
        await asyncio.wait([running, *waits], timeout=WAITS_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()


def _why(election: Election, lease: Ref, elsewhere: str) -> str:
    where = f"the Lease {lease.name} in namespace {lease.namespace}"
    match election.last_error:
        case NotFound():
            return f"the namespace {lease.namespace} for the journal does not exist: create it{elsewhere}"
        case None:
            return f"another run is at work: {election.holder} holds {where}; wait until it has ended"
        case Forbidden() as error if lacks_right(error.message):
            return (
                f"{where}, which keeps two runs apart, may not be taken: ask for a role that allows to get, create and "
                f"update leases there{elsewhere}"
            )
        case Forbidden() as error:
            return f"{where}, which keeps two runs apart, cannot be taken: {error}; put that right{elsewhere}"
        case error:
            return f"{where} cannot be taken: {error}"


def identity() -> str:
    """Of this run and no other."""
    return f"{socket.gethostname()}_{os.getpid()}_{clock.chance().getrandbits(64):016x}"


__all__ = ["LostLease", "exclusively", "identity"]
