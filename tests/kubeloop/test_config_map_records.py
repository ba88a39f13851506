"""Records in ConfigMaps: compare-and-swap, and whatever else is in them stays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
import pytest

from kubeloop import request
from kubeloop.client import Client
from kubeloop.config_map_records import LARGEST, ConfigMapRecords
from kubeloop.errors import NotFound
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.records import Outdated, TooLarge
from kubesim.cluster import Cluster
from kubesim.time import run

KEY = "journal-of-a/journal"


def played(scenario: Callable[[Client], Awaitable[None]]) -> None:
    async def play() -> None:
        await scenario(Client(Cluster(seed=0).transport("admin")))

    run(play(), seed=0)


async def entries(client: Client) -> dict[str, str]:
    answer = await client.call(request.get(Ref(CONFIGMAPS, "default", "journal-of-a")))
    found: dict[str, str] = msgspec.json.decode(answer.body)["data"]
    return found


def test_a_record_is_made_read_replaced_and_removed() -> None:
    async def scenario(client: Client) -> None:
        records = ConfigMapRecords(client, "default", {"owner": "me"})

        absent = await records.get(KEY)
        first = await records.swap(KEY, absent.version, b"one")
        assert (await records.get(KEY)).value == b"one"
        second = await records.swap(KEY, first, b"two")
        assert (await ConfigMapRecords(client, "default").get(KEY)).value == b"two"
        await records.swap(KEY, second, b"")

        assert absent.value == b""
        assert await records.get(KEY) != absent
        assert (await records.get(KEY)).value == b""

    played(scenario)


def test_of_two_writers_one_is_told_that_it_came_too_late() -> None:
    async def scenario(client: Client) -> None:
        one, other = ConfigMapRecords(client, "default"), ConfigMapRecords(client, "default")
        seen, also_seen = await one.get(KEY), await other.get(KEY)

        written = await one.swap(KEY, seen.version, b"one")
        with pytest.raises(Outdated):
            await other.swap(KEY, also_seen.version, b"other")
        await other.get(KEY)
        await one.swap(KEY, written, b"again")
        with pytest.raises(Outdated):
            await other.swap(KEY, written, b"other")

        assert await entries(client) == {"journal": "again"}

    played(scenario)


def test_other_entries_stay() -> None:
    async def scenario(client: Client) -> None:
        records = ConfigMapRecords(client, "default")
        await records.swap(KEY, (await records.get(KEY)).version, b"one")
        other = "journal-of-a/upgrade"

        await records.swap(other, (await records.get(other)).version, b"two")

        assert await entries(client) == {"journal": "one", "upgrade": "two"}

    played(scenario)


def test_what_is_too_large_or_has_no_namespace_is_refused() -> None:
    async def scenario(client: Client) -> None:
        records = ConfigMapRecords(client, "nowhere")
        absent = await records.get(KEY)

        with pytest.raises(TooLarge):
            await records.swap(KEY, absent.version, b"x" * (LARGEST + 1))
        with pytest.raises(NotFound, match="nowhere"):
            await records.swap(KEY, absent.version, b"x")

    played(scenario)
