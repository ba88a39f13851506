"""Bundles of authorities: which objects have one, which authorities are to stand there, and the writes that see to it.

Every change of a definition has each API server rebuild the resource and read all its objects again, so a bundle is
written only when something in use is missing or something left is to go; what has merely expired goes with that write.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.core.act import AnyWrite, Apply, Does, Patch, PatchKind
from fairlead.core.ask import Answers, Ask, Bad, Good, Listing
from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop.objects.meta import Ref, Resource

MOST = 8
"""Authorities in a bundle; of more the oldest go."""
IMMINENT = timedelta(hours=1)
"""So close to its end a certificate does not wait for the migration of objects."""
_MIGRATIONS = tuple(
    Resource("storagemigration.k8s.io", version, "storageversionmigrations", "StorageVersionMigration", False)
    for version in ("v1", "v1beta1")
)


class Certificate(Struct, frozen=True):
    """As far as everybody may see it."""

    pem: str
    not_before: datetime
    not_after: datetime

    def is_valid(self, now: datetime) -> bool:
        return self.not_before <= now < self.not_after


class Place(Struct, frozen=True):
    """Where an object has a bundle."""

    path: str
    """JSON pointer to what holds `caBundle`."""
    held: tuple[Certificate, ...] = ()
    """None where what stands there cannot be read."""
    name: str = ""
    """Of the entry at `entry`, which is tested to be the one that was seen."""
    entry: str = ""


class BundleTarget(Struct, frozen=True):
    """An object by which API servers learn whom to trust."""

    ref: Ref
    version: str
    places: tuple[Place, ...]
    keeper: str = ""
    """By which annotation somebody else is asked to keep the bundle; empty: it is ours to write."""

    @property
    def held(self) -> frozenset[str]:
        """PEM of the authorities that all its places hold."""
        each = [frozenset(one.pem for one in place.held) for place in self.places]
        return frozenset.intersection(*each) if each else frozenset()


def authorities(*groups: Iterable[Certificate], now: datetime) -> tuple[Certificate, ...]:
    """For a bundle: each once, in order, without those that have ended; of too many the oldest go, the first stays."""
    valid = {each.pem: each for group in groups for each in group if each.not_after > now}
    first, *others = valid.values() or (None,)
    if first is None:
        return ()
    kept = sorted(others, key=lambda each: each.not_after, reverse=True)[: MOST - 1]
    return (first, *(each for each in others if each in kept))


def lacks(target: BundleTarget, wanted: Iterable[Certificate]) -> bool:
    """Whether an authority of these is missing anywhere."""
    return not target.held.issuperset(each.pem for each in wanted)


def has_surplus(target: BundleTarget, wanted: Iterable[Certificate], now: datetime) -> bool:
    """Whether it trusts another one that has not ended."""
    known = {each.pem for each in wanted}
    return any(each.pem not in known and each.not_after > now for place in target.places for each in place.held)


def others_in(targets: Iterable[BundleTarget], known: Iterable[Certificate], now: datetime) -> tuple[Certificate, ...]:
    """All valid authorities that are trusted somewhere besides these, in the order of their ends."""
    pems = {each.pem for each in known}
    found = {one.pem: one for target in targets for place in target.places for one in place.held}
    return tuple(
        sorted(
            (each for each in found.values() if each.pem not in pems and each.not_after > now),
            key=lambda each: (each.not_after, each.pem),
        )
    )


def text_of(wanted: Iterable[Certificate]) -> str:
    """As `caBundle` has them."""
    return b64encode("".join(each.pem for each in wanted).encode()).decode()


def writing(target: BundleTarget, wanted: tuple[Certificate, ...], manager: str) -> AnyWrite:
    """One write that changes the bundles of the object and nothing else, bound to the version that was seen."""
    shown = f"{len(wanted)} {'authority' if len(wanted) == 1 else 'authorities'}"
    bundle = text_of(wanted)
    if target.ref.resource == DEFINITIONS:
        return Apply(
            ref=target.ref,
            does=Does.INJECT_CA,
            body=_definition(target, bundle),
            manager=manager,
            force=True,
            resource_version=target.version,
            contested=True,
            change_to=shown,
        )
    steps: list[dict[str, Any]] = []
    for place in target.places:
        if place.entry:
            steps.append({"op": "test", "path": f"{place.entry}/name", "value": place.name})
        change = {"op": "add", "value": bundle} if bundle else {"op": "remove"}
        if bundle or place.held:
            steps.append({**change, "path": f"{place.path}/caBundle"})
    return Patch(
        ref=target.ref,
        does=Does.INJECT_CA,
        kind=PatchKind.JSON,
        body=msgspec.json.encode(steps),
        resource_version=target.version,
        contested=True,
        change_to=shown,
    )


def _definition(target: BundleTarget, bundle: str) -> bytes:
    metadata = {"name": target.ref.name}
    config = {"caBundle": bundle} if bundle else {}
    spec = {"conversion": {"webhook": {"clientConfig": config}}}
    named = {"apiVersion": DEFINITIONS.api_version, "kind": DEFINITIONS.kind, "metadata": metadata, "spec": spec}
    return msgspec.json.encode(named)


MIGRATIONS = tuple(Ask(Listing(resource, ""), is_expected_to_fail=True) for resource in _MIGRATIONS)
"""Which objects the API server itself is migrating; it may serve none of the two."""


def being_migrated(answers: Answers) -> frozenset[str]:
    """Names of the definitions whose objects are."""
    names = set()
    for ask in MIGRATIONS:
        match answers.known.get(ask):
            case Good(value):
                names |= {_definition_name(each) for each in _items(value) if not _has_ended(each)}
            case Bad() | None:
                continue
    return frozenset(names)


def _items(value: bytes) -> list[dict[str, Any]]:
    items = msgspec.json.decode(value).get("items") or []
    return [each for each in items if isinstance(each, dict)]


def _definition_name(migration: dict[str, Any]) -> str:
    resource = (migration.get("spec") or {}).get("resource") or {}
    return f"{resource.get('resource', '')}.{resource.get('group', '')}"


def _has_ended(migration: dict[str, Any]) -> bool:
    conditions = (migration.get("status") or {}).get("conditions") or []
    return any(each.get("type") in ("Succeeded", "Failed") and each.get("status") == "True" for each in conditions)
