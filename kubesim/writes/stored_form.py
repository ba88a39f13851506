"""What is stored otherwise than it is read: empty metadata of custom resources, and data that are null.

Empty labels, annotations and lists of a custom resource are lost when a body is decoded, but what comes of applying a
configuration is stored as it is. Data in bytes that are null are stored as nothing and read as no bytes. The server
compares what it is about to write with what it has read: who says such things changes the object each time, and who
writes without them next changes it once more.
"""

from __future__ import annotations

from kubesim.kinds.registry import Kind
from kubesim.store.versions import Tree, Version
from kubesim.typed.types import Typed

_LOST = ("annotations", "finalizers", "generateName", "labels", "ownerReferences")
_DATA = ("binaryData", "data")
_MOST = 10_000


def are_stored(kind: Kind, subresource: str, sent: Tree, *, applied: bool) -> bool:
    """Whether what was sent, or came of applying, is stored with blanks; another version to store in loses them."""
    if kind.custom is None:
        return isinstance(sent, Typed) and any(len(words) > 1 and words[0] in _DATA for words in sent.empty)
    if not applied or subresource or kind.custom.conversion.stored_as != kind.resource.api_version:
        return False
    metadata = sent.get("metadata") or {}
    return any(key in metadata and not metadata[key] for key in _LOST)


class Blanks:
    """Remembers which versions have been stored so, the latest of them."""

    def __init__(self) -> None:
        self._revisions: dict[int, None] = {}

    def has(self, version: Version) -> bool:
        return version.revision in self._revisions

    def note(self, old: Version | None, new: Version, *, blank: bool) -> None:
        """A version was stored in place of another."""
        if old is not None:
            self._revisions.pop(old.revision, None)
        if blank:
            self._revisions[new.revision] = None
            if len(self._revisions) > _MOST:  # some are of objects that are gone
                del self._revisions[next(iter(self._revisions))]
