"""The history of a set's pod template: ControllerRevisions, named exactly as kube-controller-manager names them.

A revision's data is the patch that would restore the template; its name is the set's name and a hash of that patch.
The hash equals the real one wherever the template's defaults do, which makes it a test of the defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

import msgspec
from msgspec import Struct

from kubeloop.go_json import canonical, go_json
from kubeloop.objects.meta import Meta
from kubeloop.safe_hash import safe_hash
from kubesim.strategies.defaulting import fill
from kubesim.typed.faults import Undecodable
from kubesim.typed.types import type_of

HASH_LABEL = "controller.kubernetes.io/hash"

LONGEST_PREFIX = 223
"""Of a revision's name: with a dash and a hash it still fits the 253 characters of a name."""


class RevisionMeta(Meta, frozen=True, rename="camel"):
    creation_timestamp: datetime | None = None


class Revision(Struct, frozen=True):
    """A ControllerRevision as the API holds it; `data` is kept undecoded until it is compared or restored."""

    metadata: RevisionMeta
    revision: int
    data: msgspec.Raw

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def patch(self) -> bytes:
        """Its data in the one spelling that two equal revisions share."""
        return canonical(bytes(self.data))

    @property
    def template(self) -> dict[str, object]:
        """The pod template that it restores."""
        return template_in(self.patch)


class Reuse(Struct, frozen=True):
    """The newest revision already says what the set says."""

    revision: Revision


class Renumber(Struct, frozen=True):
    """An older revision says what the set says: the set was rolled back, and the revision becomes the newest."""

    revision: Revision
    number: int


class Create(Struct, frozen=True):
    """No revision says what the set says."""

    number: int


def patch_of(template: Mapping[str, object]) -> bytes:
    """The patch that restores `template`, replacing whatever template is there."""
    return go_json({"spec": {"template": {**template, "$patch": "replace"}}})


@lru_cache(maxsize=1024)
def _restored(patch: bytes) -> bytes:
    tree = msgspec.json.decode(patch)
    template = dict(tree["spec"]["template"])
    template.pop("$patch", None)
    return msgspec.json.encode(template)


def template_in(patch: bytes) -> dict[str, object]:
    """The template that `patch` restores; a fresh tree each time, which the caller may change."""
    return msgspec.json.decode(_restored(patch), type=dict[str, object])


def hash_of(patch: bytes, collisions: int) -> str:
    """The hash of the patch and of the number of collisions."""
    return safe_hash(patch + str(collisions).encode())


def name_of(owner: str, hashed: str) -> str:
    return f"{owner[:LONGEST_PREFIX]}-{hashed}"


def in_order(revisions: Iterable[Revision]) -> list[Revision]:
    """Oldest first: by number, then by age, then by name."""

    def age(revision: Revision) -> tuple[int, float, str]:
        made = revision.metadata.creation_timestamp
        return revision.revision, made.timestamp() if made else 0.0, revision.name

    return sorted(revisions, key=age)


@lru_cache(maxsize=1024)
def rewritten(patch: bytes) -> bytes:
    """The patch of a StatefulSet that was restored by `patch`: as this release writes it, with its defaults.

    Older releases wrote fields that this one leaves out, `creationTimestamp: null` for one, and knew fewer defaults.
    """
    restored = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {}}
    try:
        typed, _ = type_of("apps/v1", "StatefulSet").read(restored | {"spec": {"template": template_in(patch)}})
    except (Undecodable, LookupError, TypeError, ValueError):
        return patch  # nothing can be restored by it
    fill(typed)
    return patch_of(typed["spec"]["template"])


def choose(revisions: Sequence[Revision], patch: bytes) -> Reuse | Renumber | Create:
    """Which revision stands for `patch`; the revisions are in order.

    The newest is taken also where it is written otherwise and restores the same.
    """
    number = revisions[-1].revision + 1 if revisions else 1
    equal = [revision for revision in revisions if revision.patch == patch]
    if not equal:
        is_same = bool(revisions) and rewritten(revisions[-1].patch) == patch
        return Reuse(revisions[-1]) if is_same else Create(number)
    if revisions[-1].patch == patch:
        return Reuse(revisions[-1])
    return Renumber(equal[-1], number)


def surplus(revisions: Sequence[Revision], live: frozenset[str], limit: int) -> list[Revision]:
    """The oldest revisions beyond `limit`, not counting those whose names are in `live`; revisions are in order."""
    history = [revision for revision in revisions if revision.name not in live]
    return history[: len(history) - limit] if 0 <= limit < len(history) else []
