"""Versions on their way: introduced, served, stored, deprecated, unserved, removed (section 3.6).

Each step is a pure function from what is known to one write of the definition, or to the sentences that say why it is
not taken and which command clears that. Nothing is written where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from fairlead.contracts.apiversions.decide.crd_versions import (
    is_of_olm,
    name_of,
    served_versions,
    storage_version,
    stored_versions,
    strategy_of,
    target_of,
    version_of,
    versions_of,
)
from fairlead.contracts.apiversions.decide.pruned_leaves import is_union_safe
from fairlead.contracts.apiversions.decide.trees import Tree, copied
from fairlead.contracts.apiversions.decide.union import with_unions
from fairlead.contracts.apiversions.decide.version_uses import Uses
from fairlead.core.amounts import counted

LONGEST_WARNING = 256
SHOWN = 3
"""Objects that a sentence names."""


CONTROLLERS_ASK = (
    "the cluster's own controllers (garbage collection, quotas) go on asking for a version that was the newest one when"
    " they heard of the kind, until kube-controller-manager starts anew"
)
"""Their informers are never stopped, and a watch that ends is opened again."""


class LifecycleStep(Struct, frozen=True, kw_only=True):
    """What becomes of a definition."""

    patch: tuple[Tree, ...] = ()
    """Of JSON; none where it is so already."""
    said: str
    warnings: tuple[str, ...] = ()


class LifecycleRefused(Struct, frozen=True):
    """The step is not taken: each sentence says what is in the way, and what clears it."""

    reasons: tuple[str, ...]


class Converters(Struct, frozen=True, kw_only=True):
    """Who converts, as far as it is known."""

    rules: frozenset[str] | None = None
    """Versions that a rule set covers; None where no set is known."""
    hub: str = ""
    replicas: Mapping[str, frozenset[str]] = {}
    """Versions that each ready replica says it converts."""


class Requests(Struct, frozen=True):
    """Whether anybody asks for a version, as far as the API servers tell."""

    seen: bool = False
    """Somebody has."""
    doubt: str = ""
    """Why nobody can say that nobody has; empty where that is known."""


def introduced(
    live: Tree, new: Tree, converters: Converters, blocking: Sequence[str], *, yes: bool, published: bool = False
) -> LifecycleStep | LifecycleRefused:
    """Versions of the new text that the live one lacks, neither served nor stored; the rest of it stays out.

    `published`: the rules are where operators find them by themselves.
    """
    known = versions_of(live)
    added = [each for each in new["spec"]["versions"] if each["name"] not in known]
    if not added:
        return LifecycleStep(said=f"{name_of(live)} has {_names([*versions_of(new)])} already: nothing to introduce")
    names = [each["name"] for each in added]
    reasons = [*blocking, *unruled(live, names, converters, yes=yes)]
    # A replica speaks of versions that there are: one that it could convert is told of by none before it is there.
    told_of = [each for each in names if any(each in known for known in converters.replicas.values())]
    reasons += behind(live, told_of, converters)
    if reasons:
        return LifecycleRefused(tuple(reasons))
    patch = [
        {"op": "add", "path": "/spec/versions/-", "value": {**each, "served": False, "storage": False}}
        for each in added
    ]
    changed = [each["name"] for each in new["spec"]["versions"] if each["name"] in known and _differs(each, known)]
    warnings = [f"{_names(changed)} also differs in the file, which stays as it is"] if changed else []
    crd = name_of(live)
    would = {**live, "spec": {**live["spec"], "versions": [*live["spec"]["versions"], {**added[0], "served": True}]}}
    unconverted = strategy_of(live) == "None" and not is_union_safe(would)
    awaits = not published and bool(behind(live, names, converters))
    attaching = f"`fairlead api attach {crd} --rules FILE`, then " if unconverted or awaits else ""
    return LifecycleStep(
        patch=tuple(patch),
        said=f"{crd}: introduced {_names(names)}, not served yet;"
        f" next: {attaching}`fairlead api serve {crd} {names[0]}`",
        warnings=tuple(warnings),
    )


def served(
    live: Tree, version: str, losses: Sequence[str], *, unchecked: str = "", yes: bool = False
) -> LifecycleStep | LifecycleRefused:
    """`losses` are objects that do not survive; `unchecked` is why nobody could look."""
    crd = name_of(live)
    if version_of(live, version).get("served"):
        return LifecycleStep(said=f"{crd}: {version} is served already")
    reasons = [*losses]
    if strategy_of(live) == "None" and not is_union_safe(_with(live, version, served=True)):
        reasons.append(
            f"without conversion {version} and the other versions prune one another's fields"
            f" (`fairlead api preflight` lists them): {_no_pruning(crd, version)}"
        )
    if unchecked and not yes:
        reasons.append(f"{unchecked}: give --rules FILE, or --yes where you know that it converts without loss")
    if reasons:
        return LifecycleRefused(tuple(reasons))
    return LifecycleStep(patch=_set(live, version, served=True), said=f"{crd}: {version} is served")


def served_united(live: Tree, version: str) -> LifecycleStep | LifecycleRefused:
    """The version is served, and all versions that count take one another's shape from the same write on."""
    crd = name_of(live)
    version_of(live, version)
    if strategy_of(live) != "None":
        return LifecycleRefused(
            (f"{crd} is converted by {target_of(live)}, so its versions need no union: leave --union out",)
        )
    wanted = _with(live, version, served=True)
    if is_union_safe(wanted):
        return served(live, version, ())
    union = with_unions(wanted)
    return LifecycleStep(
        patch=({"op": "replace", "path": "/spec/versions", "value": union.definition["spec"]["versions"]},),
        said=f"{crd}: {version} is served, and its versions take one another's fields",
        warnings=union.notes,
    )


def stored(
    live: Tree, version: str, converters: Converters, unknown_to: str = "", *, yes: bool = False
) -> LifecycleStep | LifecycleRefused:
    """`unknown_to` is a release of the operator that could not read what is stored then."""
    crd, before = name_of(live), storage_version(live)
    found = version_of(live, version)
    if found.get("storage"):
        return LifecycleStep(said=f"{crd}: {version} is the storage version already")
    reasons = []
    if not found.get("served"):
        reasons.append(f"{version} is not served: run `fairlead api serve {crd} {version}` first")
    reasons += [*unruled(live, [version], converters, yes=yes), *behind(live, [version], converters)]
    if strategy_of(live) == "None" and not is_union_safe(live):
        reasons.append(
            f"without conversion {version} prunes fields that only other versions know: {_no_pruning(crd, version)}"
        )
    if reasons:
        return LifecycleRefused(tuple(reasons))
    warnings = [f"release {unknown_to} does not know {version}: after a rollback to it nobody reads what is stored"]
    return LifecycleStep(
        patch=(*_set(live, before, storage=False), *_set(live, version, storage=True)),
        said=f"{crd}: {version} is the storage version in place of {before}; next: `fairlead api migrate {crd}`",
        warnings=tuple(warnings) if unknown_to else (),
    )


def deprecated(live: Tree, version: str, warning: str | None, watches: int = 0) -> LifecycleStep | LifecycleRefused:
    """A warning of None leaves the words to the server, which names the newest version to use instead. `watches` are
    open in the version: the write ends them, and whoever opens them again is counted as asking for it."""
    crd = name_of(live)
    found = version_of(live, version)
    if found.get("storage"):
        clear = f"run `fairlead api set-storage {crd} VERSION` with another one first"
        return LifecycleRefused((f"{version} is the storage version, which is never deprecated: {clear}",))
    if not found.get("served"):
        return LifecycleRefused((f"{version} is not served, so nobody would be warned",))
    if found.get("deprecated") and found.get("deprecationWarning") == warning:
        return LifecycleStep(said=f"{crd}: {version} is deprecated already")
    patch = [*_set(live, version, deprecated=True)]
    at = f"/spec/versions/{[*versions_of(live)].index(version)}/deprecationWarning"
    if warning is not None:
        patch.append({"op": "add", "path": at, "value": warning})
    elif "deprecationWarning" in found:
        patch.append({"op": "remove", "path": at})
    instead = next((each for each in served_versions(live) if each != version and not _is_deprecated(live, each)), "")
    advice = f"; who asks for it is told to use {instead}" if instead and warning is None else ""
    warnings = []
    if watches and not found.get("deprecated"):
        are = counted(watches, f"watch of {version} is", f"watches of {version} are")
        warnings.append(
            f"{are} open (apiserver_longrunning_requests): who opens one again is counted as asking for {version};"
            f" {CONTROLLERS_ASK}"
        )
    said = f"{crd}: {version} is deprecated{advice}"
    return LifecycleStep(patch=tuple(patch), said=said, warnings=tuple(warnings))


def wrong_warning(text: str) -> str:
    """What is wrong with the words of a deprecation; empty where nothing is."""
    if not 1 <= len(text) <= LONGEST_WARNING:
        return f"a warning has 1 to {LONGEST_WARNING} characters, and this has {len(text)}"
    return "" if text.isprintable() else "a warning is one line of printable characters"


def unserved(
    live: Tree,
    version: str,
    uses: Uses,
    requests: Requests,
    hub: str = "",
    *,
    yes: bool,
    although_asked: bool = False,
) -> LifecycleStep | LifecycleRefused:
    crd = name_of(live)
    found = version_of(live, version)
    if not found.get("served"):
        return LifecycleStep(said=f"{crd}: {version} is not served already")
    reasons = []
    if found.get("storage"):
        reasons.append(
            f"{version} is the storage version: run `fairlead api set-storage {crd} VERSION` with another one"
        )
    if hub == version:
        reasons.append(
            f"{version} is the hub, the version that controllers work in: `fairlead api rules rehub` rewrites rules for"
            " another one"
        )
    reasons += _named(crd, version, uses)
    if requests.seen and not although_asked:
        reasons.append(
            f"{version} was asked for since the API server started (apiserver_requested_deprecated_apis):"
            f" find who does in its audit log; it forgets when it restarts; {CONTROLLERS_ASK}, so say --although-asked"
            " where nobody else does"
        )
    elif requests.doubt and not yes:
        reasons.append(
            f"nobody can tell whether {version} is still asked for ({requests.doubt}): say --yes if it is not"
        )
    if reasons:
        return LifecycleRefused(tuple(reasons))
    following = f"next: `fairlead api remove-version {crd} {version}`, in a later release"
    said = f"{crd}: {version} is no longer served; {following}"
    return LifecycleStep(patch=_set(live, version, served=False), said=said, warnings=_unlooked(uses))


def removed(live: Tree, version: str, uses: Uses) -> LifecycleStep | LifecycleRefused:
    """Carried leaves of the version go with it, before this is written."""
    crd = name_of(live)
    found = version_of(live, version)
    reasons = []
    if found.get("storage"):
        reasons.append(
            f"{version} is the storage version: run `fairlead api set-storage {crd} VERSION` with another one"
        )
    if found.get("served"):
        reasons.append(f"{version} is served: run `fairlead api unserve {crd} {version}` first")
    if version in stored_versions(live) and not found.get("storage"):
        reasons.append(f"objects may be stored in {version}: run `fairlead api migrate {crd}` first")
    reasons += _named(crd, version, uses)
    if reasons:
        return LifecycleRefused(tuple(reasons))
    index = [*versions_of(live)].index(version)
    patch: tuple[Tree, ...] = (
        {"op": "test", "path": f"/spec/versions/{index}/name", "value": version},
        {"op": "remove", "path": f"/spec/versions/{index}"},
    )
    return LifecycleStep(patch=patch, said=f"{crd}: {version} is removed", warnings=_unlooked(uses))


def owned_elsewhere(live: Tree) -> LifecycleRefused | None:
    """A definition that goes is not written, nor one that somebody else keeps: it would be written back."""
    if live["metadata"].get("deletionTimestamp"):
        return LifecycleRefused((f"{name_of(live)} is being deleted: see what the finalizers of its objects wait for",))
    if not is_of_olm(live):
        return None
    return LifecycleRefused(
        (f"OLM owns {name_of(live)} and would write it back: change it in the bundle of its operator",)
    )


def _unlooked(uses: Uses) -> tuple[str, ...]:
    if not uses.untold:
        return ()
    return (f"{_some(uses.untold, len(uses.untold))} may not be listed by you, and may hold references to the version",)


def _no_pruning(crd: str, version: str) -> str:
    return (
        f"attach rules with `fairlead api attach {crd} --rules FILE`,"
        f" or widen the schemas with `fairlead api serve {crd} {version} --union`"
    )


def _named(crd: str, version: str, uses: Uses) -> list[str]:
    """What still names the version; both are cleared by one command."""
    clear = f"run `fairlead api fix-refs {crd}` first"
    reasons = []
    if owned := uses.owned.get(version):
        some = f"{_some(owned.names, owned.objects)} {'names' if owned.objects == 1 else 'name'}"
        reasons.append(f"{some} an owner in {version}: {clear}")
    if managed := uses.managed.get(version):
        reasons.append(f"managedFields of {_some(managed.names, managed.objects)} name {version}: {clear}")
    return reasons


def behind(live: Tree, versions: Sequence[str], converters: Converters) -> list[str]:
    """Which replicas do not convert these versions yet."""
    if strategy_of(live) != "Webhook":
        return []
    lacking = {
        name: missing
        for name, known in converters.replicas.items()
        if (missing := [each for each in versions if each not in known])
    }
    clear = f"wait for it, or give rules that have it: `fairlead api attach {name_of(live)} --rules FILE`"
    return [f"replica {name} cannot convert {_names(missing)} yet: {clear}" for name, missing in lacking.items()]


def unruled(live: Tree, versions: Sequence[str], converters: Converters, *, yes: bool) -> list[str]:
    """Why rules for these versions are not known; with None there are none."""
    if strategy_of(live) != "Webhook":
        return []
    crd = name_of(live)
    reasons = []
    if converters.rules is not None and (missing := [each for each in versions if each not in converters.rules]):
        reasons.append(
            f"the rules do not cover {_names(missing)}: add a spoke for it to the rule set of {crd},"
            " and give the set with --rules FILE"
        )
    if converters.rules is None and not converters.replicas and not yes:
        reasons.append(
            f"{crd} is converted by {target_of(live)}, which does not say what it converts:"
            f" give --rules FILE, or --yes where you know that it converts {_names(versions)}"
        )
    return reasons


def _set(live: Tree, version: str, **fields: Any) -> tuple[Tree, ...]:
    index = [*versions_of(live)].index(version)
    at = f"/spec/versions/{index}"
    changes = ({"op": "add", "path": f"{at}/{key}", "value": value} for key, value in fields.items())
    return ({"op": "test", "path": f"{at}/name", "value": version}, *changes)


def _with(live: Tree, version: str, **fields: Any) -> Tree:
    made: Tree = copied(live)
    versions_of(made)[version].update(fields)
    return made


def _differs(version: Tree, known: Mapping[str, Tree]) -> bool:
    return bool(version.get("schema") != known[version["name"]].get("schema"))


def _is_deprecated(live: Tree, version: str) -> bool:
    return bool(version_of(live, version).get("deprecated"))


def _names(names: Sequence[str]) -> str:
    return ", ".join(names)


def _some(names: Sequence[str], count: int) -> str:
    """`a, b, c and 4 more`."""
    shown = [*names[:SHOWN]]
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return f"{', '.join(shown)}{more}"
