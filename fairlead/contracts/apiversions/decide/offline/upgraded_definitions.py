"""The definition at each stage of an offline upgrade.

While objects are converted the old versions stay exactly as they are, so that what is read in them is whole; the text
that somebody gave for them counts from the end on, when they are served no longer.
"""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.trees import Tree, copied, same


def introduced(live: Tree, before: Tree, wanted: Tree, new: str) -> Tree:
    """The new version is served and the storage version, and the old ones are served still."""
    return _with(live, wanted, [*_both(before, wanted, new, storage=new)])


def unserved(live: Tree, before: Tree, wanted: Tree, new: str, *, removed: bool) -> Tree:
    """Only the new version is served: without a webhook every other one would prune what it does not know."""
    known = {each["name"]: each for each in (*before["spec"]["versions"], *wanted["spec"]["versions"])}
    kept = [copied(each) for name, each in known.items() if name == new or not removed]
    for each in kept:
        each["served"] = each["storage"] = each["name"] == new
    return _with(live, wanted, kept)


def reverting(live: Tree, before: Tree, wanted: Tree, new: str, old: str) -> Tree:
    """The old version is the storage version again, and the new one is served still."""
    return _with(live, wanted, [*_both(before, wanted, new, storage=old)])


def reverted(live: Tree, before: Tree, wanted: Tree) -> Tree:
    """As it was; what others have put beside it stays."""
    tree = {**live, "spec": copied(before["spec"])}
    metadata = dict(live["metadata"])
    for part in ("labels", "annotations"):
        held, was = dict(metadata.get(part) or {}), before["metadata"].get(part) or {}
        for key in wanted["metadata"].get(part) or {}:
            held.pop(key, None)
        if held or was:
            metadata[part] = {**held, **was}
        else:
            metadata.pop(part, None)
    return {**tree, "metadata": metadata}


def is_as(live: Tree, wanted: Tree) -> bool:
    """Whether the live one has the versions, labels and annotations that are wanted."""
    return same(live["spec"]["versions"], wanted["spec"]["versions"]) and all(
        same(live["metadata"].get(part) or {}, wanted["metadata"].get(part) or {}) for part in ("labels", "annotations")
    )


def is_as_before(live: Tree, before: Tree) -> bool:
    """Whether nobody has changed its versions."""
    return same(live["spec"]["versions"], before["spec"]["versions"])


def has_version(definition: Tree, name: str) -> bool:
    return any(each["name"] == name for each in definition["spec"]["versions"])


def _both(before: Tree, wanted: Tree, new: str, *, storage: str) -> list[Tree]:
    named = next(each for each in wanted["spec"]["versions"] if each["name"] == new)
    versions = [copied(each) for each in before["spec"]["versions"] if each["name"] != new]
    versions.append({**copied(named), "served": True})
    for each in versions:
        each["storage"] = each["name"] == storage
    return versions


def _with(live: Tree, wanted: Tree, versions: list[Tree]) -> Tree:
    metadata = dict(live["metadata"])
    for part in ("labels", "annotations"):
        if given := wanted["metadata"].get(part):
            metadata[part] = {**(metadata.get(part) or {}), **given}
    return {**live, "metadata": metadata, "spec": {**copied(wanted["spec"]), "versions": versions}}
