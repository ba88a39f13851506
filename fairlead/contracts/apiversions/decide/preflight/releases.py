"""What another release of the operator would make of a cluster: objects it ignores, workloads it rolls, downgrades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from fairlead.contracts.apiversions.decide.crd_versions import name_of, storage_version, versions_of
from fairlead.contracts.apiversions.decide.preflight.findings import SHOWN_OBJECTS, Finding
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import Count, object_name
from fairlead.core.amounts import counted
from fairlead.core.release import Release
from fairlead.core.semantic_versions import parse
from fairlead.engine.decide.downgrade import MAX_OPERATOR_VERSION, OPERATOR_VERSION, is_downgrade, refusal
from fairlead.engine.decide.guard import GuardedObject, Ignored, VersionPolicy, standing
from kubeloop.objects.meta import Ref, Resource

REASONS = {
    "older": "an operator handled them that is older than {minimum}, the oldest whose objects {version} takes over",
    "newer": "a newer operator than {version} handled them",
    "unknown": "nobody knows which operator handled them",
    "": "an annotation says to leave them alone",
}


class LeaseSeen(Struct, frozen=True):
    name: str
    """With its namespace."""
    annotations: Mapping[str, str]


class IgnoredTally:
    """Counts objects of a kind that a release would leave alone."""

    def __init__(self, crd: str, resource: Resource, release: Release) -> None:
        self._crd, self._resource, self._release = crd, resource, release
        self._policy = VersionPolicy(own=release.version, minimum=release.minimum_compatible)
        self._counts: dict[str, Count] = {}
        self.objects = 0

    def see(self, metadata: Tree) -> None:
        self.objects += 1
        ref = Ref(self._resource, metadata.get("namespace") or "", metadata["name"], metadata["uid"])
        subject = GuardedObject(
            ref=ref,
            resource_version=metadata["resourceVersion"],
            annotations=metadata.get("annotations") or {},
            is_leaving="deletionTimestamp" in metadata,
        )
        found = standing(subject, self._policy)
        if isinstance(found, Ignored):
            self._counts.setdefault(found.why, Count()).add(object_name(metadata))

    def findings(self) -> Iterator[Finding]:
        for why, count in self._counts.items():
            text = REASONS[why].format(version=self._release.version, minimum=self._release.minimum_compatible)
            yield Finding(
                code="ObjectsIgnored",
                severity="warn",
                crd=self._crd,
                message=f"{self._release.version} would leave {counted(count.objects, 'object')} alone: {text}",
                fix="" if why != "older" else "fairlead operator --adopt always",
                count=count.objects,
                objects=tuple(count.names[:SHOWN_OBJECTS]),
            )

    def rolls(self) -> Iterator[Finding]:
        for each in self._release.rolls:
            if each.crd == self._crd and self.objects:
                yield Finding(
                    code="WouldRoll",
                    severity="warn",
                    crd=self._crd,
                    message=f"{self._release.version} rolls the workloads of "
                    f"{counted(self.objects, 'object')}: {each.reason}",
                    count=self.objects,
                )


class RollTally:
    """Counts objects whose workloads a release would roll because their users have changed something.

    A way of hashing that the release does not have tells it nothing: it notes its own hash then and rolls nothing.
    """

    def __init__(self, crd: str, release: Release, part: str, number: int) -> None:
        self._crd, self._release = crd, release
        self.is_comparable = number in release.hash_versions.get(part, [number])
        self._count = Count()

    def see(self, metadata: Tree, rolled: str, wanted: str) -> None:
        """`rolled` is the hash of what was rolled last, `wanted` that of what its user asks for; empty: not known."""
        if rolled and wanted and rolled != wanted and self.is_comparable and "deletionTimestamp" not in metadata:
            self._count.add(object_name(metadata))

    def findings(self) -> Iterator[Finding]:
        if not self._count.objects:
            return
        yield Finding(
            code="WouldRoll",
            severity="warn",
            crd=self._crd,
            message=f"{self._release.version} rolls the workloads of {counted(self._count.objects, 'object')}:"
            " their specs were changed after what was rolled last",
            count=self._count.objects,
            objects=tuple(self._count.names[:SHOWN_OBJECTS]),
        )


def of_downgrade(release: Release, leases: Sequence[LeaseSeen], live: Iterable[Tree]) -> Iterator[Finding]:
    """`live` are definitions that the release has as well."""
    known = {each.definition["metadata"]["name"]: each.definition for each in release.crds}
    definitions = [each for each in live if name_of(each) in known]
    crd = name_of(definitions[0]) if definitions else ""
    for lease in leases:
        if is_downgrade(release.version, lease.annotations):
            yield Finding(
                code="DowngradeBlocked",
                severity="block",
                crd=crd,
                message=f"Lease {lease.name}: {refusal(release.version, lease.annotations)}",
                fix="fairlead operator --allow-downgrade",
            )
    if not _is_older(release, leases):
        return
    for each in definitions:
        storage = storage_version(each)
        if storage not in versions_of(known[name_of(each)]):
            yield Finding(
                code="DowngradeBlocked",
                severity="block",
                crd=name_of(each),
                version=storage,
                message=f"objects are stored in {storage}, which {release.version} does not know",
                fix=f"fairlead api set-storage {name_of(each)} VERSION && fairlead api migrate {name_of(each)}",
            )


def _is_older(release: Release, leases: Sequence[LeaseSeen]) -> bool:
    target = parse(release.version)
    led = [
        found
        for lease in leases
        for key in (MAX_OPERATOR_VERSION, OPERATOR_VERSION)
        if (found := parse(lease.annotations.get(key, ""))) is not None
    ]
    return target is not None and any(target.precedence < each.precedence for each in led)
