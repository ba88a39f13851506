"""What was applied is remembered as long as the cache shows it unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import Struct

from fairlead.contracts.environments.kinds import Child, EnvironmentMeta
from fairlead.core.digests import digest_of
from fairlead.engine.driver.applied import SERVES, Applied, mark_of
from kubeloop import clock
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import OwnerReference, Ref
from kubeloop.store import Store
from kubesim.time import run

REF = Ref(CONFIGMAPS, "n", "a")
BODY = b'{"a":1}'


class _Cache(Struct):
    store: Store[Child]


def _meta(version: str = "5", **fields: Any) -> EnvironmentMeta:
    return EnvironmentMeta(**{"name": "a", "namespace": "n", "uid": "u", "resource_version": version, **fields})


def _cache(version: str = "5", **fields: Any) -> _Cache:
    store: Store[Child] = Store()
    store.put(Child(_meta(version, **fields)))
    return _Cache(store)


def _virtually(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await test()

    run(main(), seed=1)


def test_a_body_is_known_while_the_cache_shows_the_version_that_the_apply_left() -> None:
    async def test() -> None:
        applied = Applied()

        applied.note("scope", REF, BODY, mark_of(_meta()))

        assert applied.of("scope", {CONFIGMAPS: _cache("5")}) == {REF: digest_of(BODY)}
        assert applied.of("scope", {CONFIGMAPS: _cache("6")}) == {}
        assert applied.of("scope", {}) == {}
        assert applied.of("other", {CONFIGMAPS: _cache("5")}) == {}

    _virtually(test)


def test_where_generations_are_counted_a_new_status_does_not_matter() -> None:
    async def test() -> None:
        applied = Applied()

        applied.note("scope", REF, BODY, mark_of(_meta(generation=2)))

        assert REF in applied.of("scope", {CONFIGMAPS: _cache("9", generation=2)})
        assert REF not in applied.of("scope", {CONFIGMAPS: _cache("9", generation=3)})

    _virtually(test)


@pytest.mark.parametrize(
    "other",
    [
        {"uid": "another"},
        {"labels": {"a": "b"}},
        {"annotations": {"a": "b"}},
        {"owner_references": (OwnerReference("Kind", "name", "uid"),)},
        {"deletion_timestamp": datetime(2030, 1, 1, tzinfo=UTC)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_object_or_other_metadata_is_not_what_was_applied(other: dict[str, Any]) -> None:
    async def test() -> None:
        applied = Applied()
        applied.note("scope", REF, BODY, mark_of(_meta(generation=2)))
        assert REF in applied.of("scope", {CONFIGMAPS: _cache(generation=2)})

        shown = applied.of("scope", {CONFIGMAPS: _cache(generation=2, **other)})

        assert shown == {}

    _virtually(test)


def test_what_has_come_to_the_same_generation_after_a_restored_backup_is_not_what_was_applied() -> None:
    async def test() -> None:
        applied = Applied()
        applied.note("scope", REF, BODY, mark_of(_meta("50", generation=2)), "50")
        assert REF in applied.of("scope", {CONFIGMAPS: _cache("50", generation=2)})

        assert applied.of("scope", {CONFIGMAPS: _cache("41", generation=2)}) == {}

    _virtually(test)


def test_what_has_expired_takes_no_room() -> None:
    async def test() -> None:
        applied = Applied()
        applied.note("scope", REF, BODY, mark_of(_meta()))
        await asyncio.sleep(SERVES)

        applied.of("scope", {CONFIGMAPS: _cache()})

        assert len(applied) == 0

    _virtually(test)


def test_it_is_forgotten_after_a_while_and_on_request() -> None:
    async def test() -> None:
        applied, caches = Applied(), {CONFIGMAPS: _cache()}
        applied.note("scope", REF, BODY, mark_of(_meta()))
        began = clock.monotonic()

        await asyncio.sleep(SERVES)

        assert clock.monotonic() >= began + SERVES
        assert applied.of("scope", caches) == {}
        applied.note("scope", REF, BODY, mark_of(_meta()))
        applied.forget("scope")
        assert applied.of("scope", caches) == {}

    _virtually(test)
