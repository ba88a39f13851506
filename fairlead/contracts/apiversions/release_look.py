"""The look at a cluster before another release of the operator runs in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from fairlead.contracts.apiversions.decide.crd_versions import name_of, resource_of, storage_version
from fairlead.contracts.apiversions.decide.preflight.findings import Finding
from fairlead.contracts.apiversions.decide.preflight.releases import IgnoredTally, LeaseSeen, RollTally, of_downgrade
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import object_name
from fairlead.contracts.apiversions.live_objects import objects
from fairlead.contracts.apiversions.preflight_look import LookTerms, look
from fairlead.core.release import BadRelease, Release, read_release
from fairlead.core.semantic_versions import parse
from fairlead.engine.decide.downgrade import MAX_OPERATOR_VERSION, OPERATOR_VERSION
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.hashes import Hashed, Hashes
from fairlead.engine.object_files import UnreadableFile
from fairlead.engine.releases import known_release, known_versions
from kubeloop.client import Client
from kubeloop.errors import ApiError, Forbidden, NotFound
from kubeloop.objects.meta import Ref, Resource

LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")


def release_of(version: str, file: str) -> Release:
    """That of the file, else of the files that come with this version; raises UnreadableFile."""
    if parse(version) is None:
        raise UnreadableFile(f'--to-operator-version is "{version}": write a version such as 1.2.0')
    try:
        if file:
            found = read_release(Path(file).read_bytes())
        elif version in known_versions():
            found = known_release(version)
        else:
            known = ", ".join(known_versions())
            raise UnreadableFile(
                f"release {version} is not known here, but {known}: give what its own"
                " `fairlead manifests --release` prints as --release FILE"
            )
    except OSError as error:
        raise UnreadableFile(
            f"{file} cannot be read: {(error.strerror or str(error)).lower()}; correct the path"
        ) from None
    except BadRelease as error:
        raise UnreadableFile(f"{file or version}: {error}") from None
    if found.version != version:
        raise UnreadableFile(f"{file} is about release {found.version}, and --to-operator-version says {version}")
    return found


async def look_at_release(
    client: Client,
    release: Release,
    rules: Callable[[Tree, Tree], Awaitable[RuleSet | None]],
    terms: LookTerms,
    hashes: Sequence[Hashes] = (),
) -> list[Finding]:
    """Everything about the kinds of the release that this cluster has; raises KubeError."""
    findings: list[Finding] = []
    live: list[Tree] = []
    for each in release.crds:
        found = await _live(client, each.definition)
        if found is None:
            continue
        live.append(found)
        findings += await look(client, found, each.definition, await rules(found, each.definition), terms)
        findings += await _of_objects(client, found, release, terms)
        names = found["spec"]["group"], found["spec"]["names"]["kind"]
        for way in hashes:
            if (way.group, way.kind) == names:
                findings += await _rolled(client, found, RollTally(name_of(found), release, each.part, way.number), way)
    return [*findings, *of_downgrade(release, await _leases(client), live)]


async def _live(client: Client, definition: Tree) -> Tree | None:
    try:
        found: Tree = await client.read(Ref(DEFINITIONS, "", name_of(definition)), dict[str, Any])
    except NotFound:
        return None
    return found


async def _of_objects(client: Client, live: Tree, release: Release, terms: LookTerms) -> list[Finding]:
    resource = resource_of(live, storage_version(live))
    tally = IgnoredTally(name_of(live), resource, release)
    try:
        async for each in objects(client, resource, page=terms.page, metadata_only=True):
            tally.see(each["metadata"])
    except ApiError:
        return []  # that it cannot be listed is a finding of its own
    return [*tally.findings(), *tally.rolls()]


async def _rolled(client: Client, live: Tree, tally: RollTally, way: Hashes) -> list[Finding]:
    if not tally.is_comparable:
        return []
    try:
        async for each in objects(client, resource_of(live, storage_version(live))):
            wanted = way.hashed(each)
            tally.see(each["metadata"], way.rolled(each), wanted.hash if isinstance(wanted, Hashed) else "")
    except ApiError:
        return []  # that it cannot be listed is a finding of its own
    return [*tally.findings()]


async def _leases(client: Client) -> list[LeaseSeen]:
    """Those on which operators note their versions."""
    try:
        listed = await client.list(LEASES, dict[str, Any])
    except Forbidden:
        return []
    return [
        LeaseSeen(object_name(each["metadata"]), annotations)
        for each in listed.items
        if (annotations := each["metadata"].get("annotations") or {}).keys() & {MAX_OPERATOR_VERSION, OPERATOR_VERSION}
    ]
