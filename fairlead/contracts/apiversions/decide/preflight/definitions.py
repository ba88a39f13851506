"""Two texts of a definition held against each other: the live one and the one to come.

What depends on live objects is a Check: its finding stands as it is, and blocks as soon as one object is hit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from fairlead.contracts.apiversions.decide.crd_versions import (
    is_of_olm,
    name_of,
    owner_of,
    revision_of,
    served_versions,
    storage_version,
    stored_versions,
    strategy_of,
    target_of,
    versions_of,
)
from fairlead.contracts.apiversions.decide.preflight.findings import Finding
from fairlead.contracts.apiversions.decide.pruned_leaves import pruned, schemas_of, text_of
from fairlead.contracts.apiversions.decide.schema_changes import (
    DEFAULTS,
    SELECTABLE_FIELD_REMOVED,
    changes,
    selectable_changes,
)
from fairlead.contracts.apiversions.decide.trees import Tree

SHOWN_LEAVES = 4


class Check(Struct, frozen=True, eq=False):
    """A finding that live objects, read in its version, may turn into one that blocks."""

    version: str
    finding: Finding
    affects: Callable[[Tree], bool]


class Comparison(Struct, frozen=True):
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...] = ()


def merged(live: Tree, new: Tree) -> Tree:
    """The new text as it would be in force: what it does not say of conversion stays, and so does what is stored."""
    spec = {"conversion": live["spec"].get("conversion"), **new["spec"]}
    return {**new, "spec": spec, "status": live.get("status") or {}}


def compared(live: Tree, new: Tree) -> Comparison:
    """Everything that the two texts say without a look at objects or at the cluster."""
    wanted = merged(live, new)
    findings = [
        *_immutable(live, wanted),
        *_stored(live, wanted),
        *_gone(live, wanted),
        *_owners(live, wanted),
        *_pending(live),
    ]
    changed = [*_changed(live, wanted)]
    checks = [each for each in changed if isinstance(each, Check)]
    findings += [each for each in changed if isinstance(each, Finding)]
    return Comparison(tuple(findings), (*checks, *pruning(wanted)))


def _immutable(live: Tree, new: Tree) -> Iterator[Finding]:
    crd, before, after = name_of(live), live["spec"], new["spec"]
    if before.get("scope") != after.get("scope"):
        yield Finding(
            code="ScopeChanged",
            severity="block",
            crd=crd,
            path="/spec/scope",
            message=f"the scope is {before.get('scope')} and cannot become {after.get('scope')}: define another kind",
        )
    for key in ("kind", "plural"):
        was, becomes = before["names"].get(key), (after.get("names") or {}).get(key)
        if was != becomes:
            yield Finding(
                code="NamesChanged",
                severity="block",
                crd=crd,
                path=f"/spec/names/{key}",
                message=f"{key} is {was} and cannot become {becomes}: define another kind",
            )


def _stored(live: Tree, new: Tree) -> Iterator[Finding]:
    crd, storage, known = name_of(live), storage_version(live), versions_of(new)
    for version in stored_versions(live):
        if version in known or version == storage:
            continue
        yield Finding(
            code="StoredVersionMissing",
            severity="block",
            crd=crd,
            version=version,
            message=f"objects may be stored in {version}, which the new definition does not have",
            fix=f"fairlead api migrate {crd}",
        )
    if storage not in known:
        both = [each for each in served_versions(live) if each in known]
        yield Finding(
            code="StoredVersionMissing",
            severity="block",
            crd=crd,
            version=storage,
            message=f"objects are stored in {storage}, which the new definition does not have",
            fix=f"fairlead api set-storage {crd} {both[0]} && fairlead api migrate {crd}" if both else "",
        )
        advice = f"make {both[0]} the storage version first" if both else "install a release in between that has both"
        yield Finding(
            code="StorageVersionDropped",
            severity="block",
            crd=crd,
            version=storage,
            message=f"{storage} is the storage version and is absent from the new definition: {advice}",
            fix=f"fairlead api set-storage {crd} {both[0]}" if both else "",
        )


def _gone(live: Tree, new: Tree) -> Iterator[Finding]:
    crd, after = name_of(live), served_versions(new)
    for version in served_versions(live):
        if version not in after:
            what = "is no longer served" if version in versions_of(new) else "is absent"
            yield Finding(
                code="ServedVersionGone",
                severity="warn",
                crd=crd,
                version=version,
                message=f"{version} is served and {what} in the new definition",
                fix=f"fairlead api unserve {crd} {version}",
            )


def named_still(finding: Finding, count: int, what: str, objects: tuple[str, ...]) -> Finding:
    """A version that goes while something names it; `what` ends with the verb."""
    return Finding(
        code=finding.code,
        severity="block",
        crd=finding.crd,
        version=finding.version,
        message=f"{finding.message}, and {what} it",
        fix=f"fairlead api fix-refs {finding.crd}",
        count=count,
        objects=objects,
    )


def _owners(live: Tree, new: Tree) -> Iterator[Finding]:
    crd = name_of(live)
    if strategy_of(live) == "Webhook" and (strategy_of(new), target_of(new)) != ("Webhook", target_of(live)):
        becomes = target_of(new) or f"strategy {strategy_of(new)}"
        yield Finding(
            code="ForeignConversion",
            severity="warn",
            crd=crd,
            path="/spec/conversion",
            message=f"{target_of(live)} converts now, and the new definition says {becomes}",
        )
    if is_of_olm(live):
        yield Finding(
            code="OwnedElsewhere",
            severity="warn",
            crd=crd,
            message="OLM owns this definition: it may be written over; change it in its bundle",
        )
    elif (owner := owner_of(live)) and owner_of(new) not in ("", owner):
        yield Finding(
            code="OwnedElsewhere",
            severity="warn",
            crd=crd,
            message=f"the operator in namespace {owner} writes this definition",
        )
    if revision_of(new) and revision_of(live) > revision_of(new):
        yield Finding(
            code="CRDNewer",
            severity="warn",
            crd=crd,
            message=f"the live definition is revision {revision_of(live)}, newer than {revision_of(new)}",
        )


def _pending(live: Tree) -> Iterator[Finding]:
    crd, storage, stored = name_of(live), storage_version(live), stored_versions(live)
    if stored and stored != (storage,):
        yield Finding(
            code="MigrationPending",
            severity="info",
            crd=crd,
            message=f"objects may be stored in {', '.join(stored)}, and the storage version is {storage}",
            fix=f"fairlead api migrate {crd}",
        )


def _changed(live: Tree, new: Tree) -> Iterator[Finding | Check]:
    """Schemas of versions that are in both texts."""
    crd = name_of(live)
    before, after = schemas_of(live), schemas_of(new)
    for version, old in before.items():
        if version not in after:
            continue
        found = [
            *changes(old, after[version]),
            *selectable_changes(versions_of(live)[version], versions_of(new)[version]),
        ]
        for each in found:
            finding = Finding(
                code=each.code,
                severity="warn",
                crd=crd,
                version=version,
                path=text_of(each.place),
                message=f"{text_of(each.place) or 'the object'} {each.message}",
            )
            if each.code in (*DEFAULTS, SELECTABLE_FIELD_REMOVED):
                yield finding
            else:
                yield Check(version, finding, each.affects)


def pruning(new: Tree) -> list[Check]:
    """What versions lose of one another where nobody converts; each blocks whether or not an object has it."""
    if strategy_of(new) != "None":
        return []
    crd = name_of(new)
    found = []
    for each in pruned(new):
        leaves = tuple(text_of(leaf) for leaf in each.leaves)
        shown = ", ".join(leaves[:SHOWN_LEAVES])
        more = f" and {len(leaves) - SHOWN_LEAVES} more" if len(leaves) > SHOWN_LEAVES else ""
        finding = Finding(
            code="NoneWouldPrune",
            severity="block",
            crd=crd,
            version=each.pruned_by,
            path=text_of(each.place),
            message=f"without conversion {each.pruned_by} prunes what {each.known_to} holds at {shown}{more}",
            fix=f"fairlead api attach {crd} --rules FILE",
            leaves=leaves,
        )
        found.append(Check(each.known_to, finding, each.is_in))
    return found


def gone_versions(findings: Sequence[Finding]) -> dict[str, Finding]:
    """Findings about versions that go, by the version."""
    return {each.version: each for each in findings if each.code == "ServedVersionGone"}
