"""Caches, tombstones and the ledger on both clusters: a kind that comes later, is read by two, and is given back."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kubeloop.caches import Caches, Share
from kubeloop.ledger import Ledger
from kubeloop.objects.meta import Meta, Ref, Resource
from kubeloop.request import delete, patch
from kubeloop.store import Index
from kubeloop.tombstones import Tombstones
from kubeloop.watch import Selection
from tests.e2e.clusters import Site, everywhere
from tests.e2e.installing import a_kind_of, define
from tests.e2e.operators import LOOK_EVERY

GROUP = "caches.fairlead.test"
CRATES = Resource(GROUP, "v1", "crates", "Crate")
GREEN = b'{"metadata":{"labels":{"colour":"green"},"annotations":{"read":"yes","unread":"yes"}}}'


class CrateMeta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}


class Crate(Struct, frozen=True):
    metadata: CrateMeta


class Troubles:
    def __init__(self, _: Selection, __: object) -> None: ...

    def failed(self, error: Exception) -> None: ...

    def restored(self) -> None: ...


def by_colour(crate: Crate) -> tuple[str, ...]:
    return (crate.metadata.labels.get("colour", ""),)


def a_crate(name: str) -> dict[str, object]:
    return {"apiVersion": CRATES.api_version, "kind": CRATES.kind, "metadata": {"name": name}}


@everywhere(controllers=False)
async def test_a_kind_that_is_defined_later_is_read_by_two_and_given_back(site: Site) -> None:
    caches = Caches(site.client, Troubles)
    running = site.start(caches.run())

    def share(indexes: Mapping[str, Index[Crate]]) -> Share[Crate]:
        return caches.share(
            CRATES, Crate, namespace=site.namespace, indexes=indexes, annotations=frozenset({"read"}), optional=True
        )

    reader = share({})
    await reader.informer.settled.wait()
    assert reader.informer.is_absent
    await define(site, a_kind_of(f"{GROUP}/v1", CRATES.kind))
    reader.informer.hurry()
    await reader.informer.synced.wait()

    other = share({"colour": by_colour})
    assert other.informer is reader.informer
    gone: Tombstones[Crate] = Tombstones(other, by_colour)
    ledger = Ledger(10.0, caches.covering)
    made = await site.create(CRATES, a_crate("a"))
    ref = Ref(CRATES, site.namespace, "a", made["metadata"]["uid"])
    await site.client.call(patch(Ref(CRATES, site.namespace, "a"), "application/merge-patch+json", GREEN))
    (green,) = await site.until(lambda: other.store.by("colour", "green"), every=LOOK_EVERY)
    assert green.metadata.annotations == {"read": "yes"}

    await site.client.call(delete(ref))
    ledger.deleted("scope", ref)
    await site.until(lambda: not ledger.pending("scope"), every=LOOK_EVERY)
    (tombstone,) = gone.by("green")
    assert tombstone.metadata.uid == ref.uid
    gone.forget([tombstone])
    assert gone.by("green") == ()

    reader.give_back()
    assert list(caches) == [other.informer]
    other.give_back()
    assert list(caches) == []
    await site.stop(running)
