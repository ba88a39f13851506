"""Carries out a storage migration in the background: pages in, objects back as they came, the definition at the end.

Best effort: whatever fails is a warning and is tried again later, and nothing waits for it. It writes, so it runs on
the replica that leads; one that has lost its lease leaves the rest to the next.

It begins at once, because what is stored in the old version is worked out anew with every read. An API server that has
not heard of the storage version may store an object in the old one even after that, so every object is written once
more before the old version is forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from msgspec import Raw, Struct
from structlog.types import FilteringBoundLogger

from fairlead.engine.decide.migration import (
    MOST_TRIES,
    Changed,
    Clean,
    Fate,
    Incomplete,
    Plan,
    Progress,
    Prune,
    Tree,
    fate_of,
    plan_of,
    prune,
)
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.kinds.definitions import definition_in
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.decoding import decoded
from kubeloop.errors import ApiError, Conflict, Gone, KubeError, NotLeader
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH
from kubeloop.watch import Identity

LOOKS = 6 * 3600.0
MOST_NAMED = 10
"""Objects of one run of which a failure is logged each; of the others their number is."""


class MigrationPace(Struct, frozen=True):
    page: int = 500
    settling: float = 10.0
    """Seconds after which every API server has heard of the storage version."""
    first_delay: float = 5.0
    longest_delay: float = 300.0
    """Between two runs, doubling."""


USUAL = MigrationPace()


class Run(Struct, frozen=True):
    """One run that has ended, for metrics."""

    stored: int
    gone: int
    failed: int
    finished: bool


class _ListMeta(Struct, frozen=True, rename={"token": "continue"}):
    token: str = ""


class _Page(Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: list[Raw] | None = None


class Migrating:
    """The migration of one kind, by the name of its definition."""

    def __init__(
        self,
        client: Client,
        name: str,
        log: FilteringBoundLogger,
        *,
        pace: MigrationPace = USUAL,
        heard: Callable[[Run], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._definition = Ref(DEFINITIONS, "", name)
        self._log = log.bind(definition=name)
        self._pace = pace
        self._heard = heard
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Objects may be stored in another version again."""
        self._woken.set()

    async def keep(self) -> None:
        """Migrates, and again when it is woken and every LOOKS seconds; until cancelled, or not leading any more."""
        while True:
            self._woken.clear()
            await self.run()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOKS):
                    await self._woken.wait()

    async def run(self) -> None:
        """Returns when all objects are stored in the storage version, or when this replica does not lead."""
        delay = self._pace.first_delay
        while True:
            progress = Progress()
            try:
                problem = await self._attempt(progress)
            except NotLeader:
                return
            except KubeError as error:
                problem = str(error)
            self._heard(Run(progress.stored, progress.gone, progress.failed, not problem))
            if not problem:
                return
            self._log.warning("storage migration not finished", error=problem, again_in=delay)
            await asyncio.sleep(delay)
            delay = min(2 * delay, self._pace.longest_delay)

    async def _attempt(self, progress: Progress) -> str:
        """One run over all objects; why it is not the last one, or nothing."""
        match plan_of(await self._read()):
            case Clean():
                return ""
            case Changed(text):
                return text
            case Plan() as plan:
                self._log.info("storage migration begins", stored=plan.stored, storage=plan.resource.version)
        heard_by_all = clock.monotonic() + self._pace.settling
        await self._rewrite_all(plan, progress)
        if not progress.failed:
            await asyncio.sleep(heard_by_all - clock.monotonic())
            progress.stored = 0
            await self._rewrite_all(plan, progress)
        return await self._prune(plan, progress)

    async def _rewrite_all(self, plan: Plan, progress: Progress) -> None:
        token: str | None = ""
        while token is not None:
            items, token = await self._page(plan, token)
            for item in items:
                await self._rewrite(plan, item, progress)

    async def _page(self, plan: Plan, token: str) -> tuple[list[Raw], str | None]:
        """The objects behind the token, and the token of those behind them; None behind the last."""
        asked = request.list_page(plan.resource, limit=self._pace.page, token=token)
        try:
            page = decoded((await self._client.call(asked)).body, _Page, asked.doing)
        except Gone as error:
            if not token:
                raise
            return [], error.token  # empty: from the start, which is harmless
        return page.items or [], page.metadata.token or None

    async def _rewrite(self, plan: Plan, item: Raw, progress: Progress) -> None:
        key = decoded(item, Identity, f"an object of {plan.resource.plural}").key
        ref, body, tries = Ref(plan.resource, *key), bytes(item), 0
        while True:
            tries += 1
            fate, error = await self._written(ref, body, tries)
            if fate is not Fate.READ_AGAIN:
                break
            try:
                body = (await self._client.call(request.get(ref))).body
            except ApiError as refusal:
                fate, error = fate_of(refusal.status, MOST_TRIES), refusal
                break
        progress.stored += fate is Fate.STORED
        progress.gone += fate is Fate.GONE
        if fate is Fate.FAILED:
            self._note_failure(key, error, progress)

    async def _written(self, ref: Ref, body: bytes, tries: int) -> tuple[Fate, ApiError | None]:
        try:
            answer = await self._client.call(request.replace(ref, body))
        except ApiError as error:
            return fate_of(error.status, tries), error
        return fate_of(answer.status, tries), None

    def _note_failure(self, key: tuple[str, str], error: ApiError | None, progress: Progress) -> None:
        progress.failed += 1
        if progress.failed <= MOST_NAMED:
            self._log.warning("object not migrated", object="/".join(filter(None, key)), error=str(error))

    async def _prune(self, plan: Plan, progress: Progress) -> str:
        """Forgets the other versions; why not, or nothing when it is done."""
        for _ in range(MOST_TRIES):
            match prune(plan, progress, await self._read()):
                case Clean():
                    return ""
                case Changed(text) | Incomplete(text):
                    return text
                case Prune(body):
                    patch = request.patch(self._definition, MERGE_PATCH, body, "status")
                    try:
                        await self._client.call(patch)
                    except Conflict:
                        continue
                    self._log.info("storage migration finished", stored=progress.stored, gone=progress.gone)
                    return ""
        return "the definition is written faster than it can be read"

    async def _read(self) -> Tree:
        asked = request.get(self._definition)
        return definition_in((await self._client.call(asked)).body, asked.doing)
