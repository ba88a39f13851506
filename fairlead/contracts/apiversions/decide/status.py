"""How the versions of a kind stand, for people and programs (section 2.3)."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.apiversions.decide.crd_versions import (
    name_of,
    storage_version,
    stored_versions,
    strategy_of,
    target_of,
    versions_of,
)
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import Count, Uses
from fairlead.core.api_versions import age

REMOVED_BY_FORCE = ("invalid group/version", "request to convert CR from an invalid group/version")
"""What the API server says of an object that is stored in a version which the definition no longer has."""


class VersionStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    served: bool
    storage: bool
    deprecated: bool = False


class Unconvertible(Struct, frozen=True, rename="camel"):
    """An object that cannot be had in a version."""

    version: str
    name: str
    message: str


class Migration(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The last one, as its journal tells."""

    phase: str
    completed_at: str = ""
    problem: str = ""


class Status(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """Of one kind; what is about objects is there where somebody looked at them."""

    crd: str
    versions: list[VersionStatus]
    stored_versions: list[str]
    strategy: str
    target: str = ""
    deleted_since: str = ""
    """Empty: it stays."""
    authorities_end: list[datetime] = []
    objects: int | None = None
    managed: dict[str, int] = {}
    owned: dict[str, int] = {}
    controllers: dict[str, int] = {}
    carrying: dict[str, Count] = {}
    """By served version: objects that a replace without annotations would take data from."""
    most_carry_bytes: int = 0
    all_carry_bytes: int = 0
    unconvertible: list[Unconvertible] = []
    more_unconvertible: int = 0
    unlisted: dict[str, str] = {}
    """By version: what the server says where it cannot list."""
    unlisted_kinds: list[str] = []
    """Kinds whose objects the caller may not list, so that it is not known whom they name."""
    migration: Migration | None = None
    advice: list[str] = []


def status_of(definition: Tree, ends: list[datetime]) -> Status:
    """What the definition says by itself."""
    found = [
        VersionStatus(name, bool(each.get("served")), bool(each.get("storage")), bool(each.get("deprecated")))
        for name, each in versions_of(definition).items()
    ]
    status = Status(
        crd=name_of(definition),
        versions=sorted(found, key=lambda each: age(each.name), reverse=True),
        stored_versions=[*stored_versions(definition)],
        strategy=strategy_of(definition),
        target=target_of(definition),
        deleted_since=definition["metadata"].get("deletionTimestamp") or "",
        authorities_end=ends,
    )
    if status.deleted_since:
        status.advice.append("it goes when its last object has: see what their finalizers wait for")
    elif status.stored_versions != [storage_version(definition)]:
        status.advice.append(f"objects may be stored in an older version: `fairlead api migrate {status.crd}`")
    return status


def add_uses(status: Status, uses: Uses, controllers: dict[str, int]) -> None:
    status.objects = uses.objects
    status.managed = {version: count.objects for version, count in sorted(uses.managed.items())}
    status.owned = {version: count.objects for version, count in sorted(uses.owned.items())}
    status.controllers = dict(sorted(controllers.items()))
    status.unlisted_kinds = [*uses.untold]
    known = {each.name for each in status.versions}
    if lost := sorted(version for version in {*uses.managed, *uses.owned} if version not in known):
        status.advice.append(
            f"{', '.join(lost)} is named and is no version any more: `fairlead api fix-refs {status.crd}`"
        )


def add_unlisted(status: Status, version: str, message: str) -> None:
    """A version in which the server cannot list objects."""
    status.unlisted[version] = message
    if any(each in message for each in REMOVED_BY_FORCE):
        advice = (
            "objects are stored in a version that the CRD no longer has: add it to spec.versions again,"
            f" with served: false, and run `fairlead api migrate {status.crd} --force`"
        )
        if advice not in status.advice:
            status.advice.append(advice)
