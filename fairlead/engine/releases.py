"""Releases that this one knows: what it says of itself, and what those before it have said.

Every release carries its own file and those of all before it, `releases/VERSION.json`; `fairlead manifests --release`
prints that of this one. Words for people are left out of the definitions: nothing is decided by them.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from fairlead import MINIMUM_COMPATIBLE, __version__
from fairlead.core.domain import DOMAIN
from fairlead.core.release import Release, ReleasedKind, Tree, read_release
from fairlead.core.semantic_versions import parse
from fairlead.engine.contract import Contract

FOLDER = "releases"
SUFFIX = ".json"
REVISION = f"{DOMAIN}/crd-revision"


def this_release(contracts: Iterable[Contract]) -> Release:
    """What this build is."""
    crds, known = [], tuple(contracts)
    for contract in known:
        if contract.kinds is not None:
            crds += [_released(contract.name, each) for each in contract.kinds.get()()]
    hashes = {each.name: [each.hashes.get().number] for each in known if each.hashes is not None}
    return Release(version=__version__, minimum_compatible=MINIMUM_COMPATIBLE, hash_versions=hashes, crds=crds)


def known_versions() -> tuple[str, ...]:
    """Of releases whose files are here, the oldest first."""
    names = [each.name.removesuffix(SUFFIX) for each in files("fairlead").joinpath(FOLDER).iterdir()]
    found = [(version.precedence, name) for name in names if (version := parse(name)) is not None]
    return tuple(name for _, name in sorted(found))


def known_release(version: str) -> Release:
    """Of a version that is known; raises BadRelease."""
    place = files("fairlead").joinpath(FOLDER, f"{version}{SUFFIX}")
    return read_release(place.read_bytes())


def release_without(crd: str, version: str) -> str:
    """The release before this one, where it has the definition and does not know the version; else empty."""
    for name in reversed(known_versions()[:-1]):
        kinds = [each for each in known_release(name).crds if each.definition["metadata"]["name"] == crd]
        return name if kinds and version not in kinds[0].convertible else ""
    return ""


def _released(part: str, definition: Tree) -> ReleasedKind:
    versions = [each["name"] for each in definition["spec"]["versions"]]
    annotation = str((definition["metadata"].get("annotations") or {}).get(REVISION) or "0")
    plain: Tree = _plain(definition)
    return ReleasedKind(part, plain, versions, int(annotation) if annotation.isdecimal() else 0)


def _plain(tree: Any, *, is_map: bool = False) -> Any:
    """Without descriptions; a property may have that name."""
    if isinstance(tree, dict):
        return {
            key: _plain(value, is_map=key == "properties" and not is_map)
            for key, value in tree.items()
            if is_map or not (key == "description" and isinstance(value, str))
        }
    return [_plain(each) for each in tree] if isinstance(tree, list | tuple) else tree
