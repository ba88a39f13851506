"""Verbs asked of a rollout on any cluster, and people who do something in the middle of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fairlead.core.verb import Tree, Verb, VerbAnswer, VerbPlan, VerbRequest, Verbs
from fairlead.engine.verbs import Acted, Declined, act, decided
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.request import Request, Response, Stream, Transport
from tests.e2e.clusters import Site


def row(table: Verbs, verb: str) -> Verb:
    found = table.rows[verb]
    assert isinstance(found, Verb)
    return found


async def asked(
    site: Site, table: Verbs, verb: str, name: str, client: Client | None = None, /, **options: str
) -> Acted | Declined | VerbAnswer:
    """What comes of the verb; options by their flag without dashes, with one `_` for each inside."""
    given = {f"--{flag.replace('_', '-')}": (value,) for flag, value in options.items()}
    request = VerbRequest(site.namespace, name, given)
    return await act(client or site.client, row(table, verb).decide, request, clock.now(), lambda _: True)


async def said(site: Site, table: Verbs, verb: str, name: str, **options: str) -> str:
    """What is told of a verb that was carried out."""
    done = await asked(site, table, verb, name, None, **options)
    assert isinstance(done, Acted), done
    return done.plan.said


async def patches(site: Site, table: Verbs, verb: str, name: str) -> dict[str, Tree]:
    """What a dry run shows, by object."""
    plan = await decided(site.client, row(table, verb).decide, VerbRequest(site.namespace, name), clock.now())
    assert isinstance(plan, VerbPlan), plan
    return {write.ref.name: write.patch for write in plan.writes}


class Interrupted:
    """A transport on which something happens right before a patch that is no rehearsal.

    It is counted from 1; with 0 it happens before each.
    """

    def __init__(self, transport: Transport, place: int, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self._transport = transport
        self._place = place
        self._meanwhile = meanwhile
        self.patches = 0

    async def send(self, message: Request) -> Response:
        if message.method == "PATCH" and ("dryRun", "All") not in message.query:
            self.patches += 1
            if self._place in (0, self.patches):
                await self._meanwhile()
        return await self._transport.send(message)

    def stream(self, message: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(message)


@asynccontextmanager
async def interrupted(
    site: Site, place: int, meanwhile: Callable[[], Awaitable[object]]
) -> AsyncIterator[tuple[Client, Interrupted]]:
    transport = site.ground.transport("admin")
    through = Interrupted(transport, place, meanwhile)
    try:
        yield Client(through), through
    finally:
        await Client(transport).close()
