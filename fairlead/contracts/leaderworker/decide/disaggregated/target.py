"""The revision that a DisaggregatedSet is to have (section 6.7): one that is there already, or the hash of its roles.

Whoever made the children, the label that they carry stays as long as their templates are what the spec says: nothing
moves when one controller takes over from another, and nothing when only the spelling changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from hashlib import sha256

from fairlead.contracts.leaderworker.decide.disaggregated.children import (
    INJECTED,
    TEMPLATES,
    Child,
    Generation,
    generations,
)
from fairlead.contracts.leaderworker.decide.disaggregated.placement import without_placement
from fairlead.contracts.leaderworker.decide.normal_form import TEMPLATE, normal_form
from fairlead.contracts.leaderworker.disaggregated.kinds import DisaggregatedSet
from fairlead.contracts.leaderworker.kinds import Json
from kubeloop.go_json import go_json

LENGTH = 8


def target_revision(given: DisaggregatedSet, children: Iterable[Child]) -> str:
    """The label of the newest children that are what the spec says, in any slice; else the hash of the roles."""
    wanted = {each.name: bare(each.template) for each in given.spec.roles}
    found = next((each.revision for each in _every(children) if _is_wanted(each, wanted)), None)
    return found if found is not None else hashed(given)


def hashed(given: DisaggregatedSet) -> str:
    """The first digits of a hash over all roles in their order."""
    roles = [{"name": each.name, "template": each.template} for each in given.spec.roles]
    return sha256(go_json(roles)).hexdigest()[:LENGTH]


def _every(children: Iterable[Child]) -> Iterator[Generation]:
    """Those of all slices, the newest first."""
    by_slice: dict[int, list[Child]] = {}
    for each in children:
        by_slice.setdefault(each.slice, []).append(each)
    found = [each for several in by_slice.values() for each in generations(several)]
    yield from sorted(found, key=lambda each: (each.created, each.revision), reverse=True)


def _is_wanted(found: Generation, wanted: dict[str, bytes]) -> bool:
    return found.roles.keys() == wanted.keys() and all(
        bare(each.found.spec.leader_worker_template) == wanted[role] for role, each in found.roles.items()
    )


def bare(template: Json) -> bytes:
    """The normal form of a template without what is put into children; that cannot be the user's own."""
    tree = deepcopy(template)
    for name in TEMPLATES:
        found = tree.get(name)
        if not isinstance(found, dict):
            continue
        without_placement(found)
        metadata = found.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, dict) else None
        if isinstance(metadata, dict) and isinstance(labels, dict):
            metadata["labels"] = {key: value for key, value in labels.items() if key not in INJECTED}
    return normal_form(go_json({"spec": {TEMPLATE: tree}}))
