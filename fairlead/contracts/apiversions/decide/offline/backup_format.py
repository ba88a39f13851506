"""What a backup consists of: its manifest, the names of its files, and what is no backup (section 3.7.6).

Names of objects and namespaces are DNS names, so they are names of files as well; a manifest that names any other file
was edited, and nothing of it is used. So no path can lead out of the directory.
"""

from __future__ import annotations

import re
from hashlib import sha256

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.amounts import counted
from kubeloop.unreadable import UNREADABLE

FORMAT = 1
MANIFEST, DEFINITION, JOURNAL = "manifest.json", "crd.yaml", "journal.jsonl"
NEW_DEFINITION, RULES, PLAN = "upgrade/crd.yaml", "upgrade/rules.yaml", "upgrade/plan.json"
"""Kept with the backup of an upgrade, so that it goes on with the very text it began with."""
OBJECTS, CLUSTER = "objects", "_cluster"
"""No namespace is called that: names have no underscore."""
LONGEST_NAME = 250
"""Characters of a name that is the name of a file with its ending; file systems take 255 bytes."""

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAMESPACE = re.compile(rf"{_LABEL}|{CLUSTER}")
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_PLAIN = (DEFINITION, NEW_DEFINITION, RULES, PLAN)


class BadBackup(Exception):
    """The directory is no backup that can be used; the text is one sentence that says why and what would help."""


class BackedVersion(Struct, frozen=True):
    name: str
    served: bool
    storage: bool


class Dependent(Struct, frozen=True, rename="camel"):
    """An object that is owned by one of the backup."""

    api_version: str
    kind: str
    plural: str
    namespace: str
    name: str
    owner: str
    """UID of the owner, as it was."""


class Manifest(Struct, frozen=True, rename="camel", kw_only=True):
    format: int = FORMAT
    crd: str
    uid: str
    generation: int
    stored_versions: tuple[str, ...]
    resource_version: str
    """Of the list."""
    version: str
    """In which the objects are."""
    versions: tuple[BackedVersion, ...]
    objects: int
    created_at: str = ""
    dependents: tuple[Dependent, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Kinds that could not be looked through for dependents."""
    files: dict[str, str]
    """SHA-256 of each, in hex."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Of the objects, sorted."""
        return tuple(sorted(each for each in self.files if each.startswith(f"{OBJECTS}/")))


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def path_of(namespace: str, name: str) -> str:
    """Of an object; raises BadBackup for names that no API server takes."""
    place = namespace or CLUSTER
    if not (_NAMESPACE.fullmatch(place) and _NAME.fullmatch(name)):
        raise BadBackup(f'"{namespace}/{name}" is no name of an object, so it cannot be the name of a file')
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 17]}-{digest(name.encode())[:16]}"
    return f"{OBJECTS}/{place}/{name}.json"


def encoded(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=2) + b"\n"


def manifest_in(content: bytes, where: str) -> Manifest:
    """The manifest that a file holds; raises BadBackup."""
    try:
        found = msgspec.json.decode(content)
        if isinstance(found, dict) and found.get("format") != FORMAT:
            raise BadBackup(
                f"{where} says format {found.get('format')}, and this program knows {FORMAT}: use the release of"
                " fairlead that made the backup"
            )
        manifest = msgspec.convert(found, Manifest)
    except UNREADABLE:
        raise BadBackup(f"{where} cannot be read: it was cut short or edited, so give another backup") from None
    for path in manifest.files:
        if not _is_ours(path):
            raise BadBackup(f'{where} names the file "{path}", which no backup has: it was edited')
    if DEFINITION not in manifest.files or len(manifest.paths) != manifest.objects:
        raise BadBackup(
            f"{where} names {counted(len(manifest.paths), 'object')} where it counts {manifest.objects}, "
            f"or no {DEFINITION}: it was edited"
        )
    return manifest


def check_content(path: str, content: bytes | None, manifest: Manifest) -> bytes:
    """The content; raises BadBackup for a file that is not as the manifest says. None: it is not there."""
    if content is None:
        raise BadBackup(f"{path} is missing: the backup is not whole, and nothing was written")
    if digest(content) != manifest.files[path]:
        raise BadBackup(f"{path} is not as it was when the backup was made, and nothing was written")
    return content


def check_object(path: str, tree: object, definition: Tree, version: str) -> None:
    """Raises BadBackup for a file that holds no object of the definition, or that of another name."""
    spec = definition["spec"]
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    if not isinstance(tree, dict) or not isinstance(metadata, dict):
        raise BadBackup(f"{path} holds no object, and nothing was written")
    wanted = (f"{spec['group']}/{version}", spec["names"]["kind"])
    if (tree.get("apiVersion"), tree.get("kind")) != wanted:
        raise BadBackup(f"{path} holds no {wanted[1]} of {wanted[0]}: it is of another CRD, and nothing was written")
    if path_of(str(metadata.get("namespace") or ""), str(metadata.get("name"))) != path:
        raise BadBackup(f"{path} holds an object of another name, and nothing was written")


def check_definition(tree: object, manifest: Manifest) -> None:
    """Raises BadBackup where the definition of a backup is not the one that its manifest names."""
    name = tree["metadata"].get("name") if isinstance(tree, dict) and isinstance(tree.get("metadata"), dict) else None
    if name != manifest.crd:
        raise BadBackup(f"{DEFINITION} defines {name}, and the manifest is about {manifest.crd}: it was edited")


def changed_meanwhile(first: dict[str, str], second: dict[str, str]) -> tuple[list[str], list[str]]:
    """Of two lists (resource versions by path) what is to be fetched again, and what is gone."""
    return (
        sorted(path for path, version in second.items() if first.get(path) != version),
        sorted(path for path in first if path not in second),
    )


def _is_ours(path: str) -> bool:
    if path in _PLAIN:
        return True
    parts = path.split("/")
    return (
        len(parts) == 3
        and parts[0] == OBJECTS
        and bool(_NAMESPACE.fullmatch(parts[1]))
        and parts[2].endswith(".json")
        and bool(_NAME.fullmatch(parts[2].removesuffix(".json")))
    )
