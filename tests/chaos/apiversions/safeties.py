"""Safeties of API versions, each taken away by a patch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.apiversions.commands import carried, detach, fix_refs, migrate, remove_version
from fairlead.contracts.apiversions.decide import (
    attachment,
    carry_laying,
    convert,
    lifecycle,
    payload,
    reference_fix,
)
from fairlead.contracts.apiversions.decide.offline import object_parts, standstill
from fairlead.contracts.apiversions.decide.payload import Payload, PayloadVerdict
from fairlead.contracts.apiversions.decide.version_uses import Uses
from fairlead.contracts.apiversions.rule_tests import RuleTests
from fairlead.core.rollout_hash import HashChange, HashWays
from fairlead.engine import assembly, lease_terms
from fairlead.engine.certificates import followed
from fairlead.engine.conversion.webhook import InForce
from fairlead.engine.decide import definition_writes, rotation
from fairlead.engine.decide.exchange import Show
from fairlead.engine.decide.storage_migration import objects, rewriting, steps
from fairlead.engine.decide.storage_migration.journal import MigrationPhase, entering
from kubeloop.election import Election
from tests.widgets import decide as widgets

Take = Callable[[pytest.MonkeyPatch], None]


def nothing_is_carried(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(convert, "differences", lambda *_: [])


def nothing_carried_comes_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(convert, "laid", lambda *_: 0)


def carried_leaves_win_always(patch: pytest.MonkeyPatch) -> None:
    """Over what somebody wrote in another version."""
    patch.setattr(carry_laying, "_is_guarded", lambda *_: True)


def rules_are_not_tried(patch: pytest.MonkeyPatch) -> None:
    async def problems(*_: Any) -> tuple[str, ...]:
        return ()

    patch.setattr(RuleTests, "_problems", problems)


def rewrites_bound_to_no_version(patch: pytest.MonkeyPatch) -> None:
    real = objects.Stored.touched

    def touched(self: objects.Stored, *, via_status: bool) -> Any:
        return structs.replace(real(self, via_status=via_status), resource_version="")

    patch.setattr(objects.Stored, "touched", touched)


def nothing_is_proven(patch: pytest.MonkeyPatch) -> None:
    """`storedVersions` is pruned as soon as all was gone through."""
    patch.setattr(steps, "verify", lambda journal, _plan, _seen, now: entering(journal, MigrationPhase.PRUNE, now))


def failures_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A rewrite that failed counts as one that was done."""
    patch.setattr(rewriting, "is_gone", lambda _: True)
    nothing_is_proven(patch)


def no_lease_of_migrations(patch: pytest.MonkeyPatch) -> None:
    class Nobody:
        def gate(self) -> None:
            """Whoever asks may."""

    async def at_once(_client: Any, _lease: Any, work: Callable[[Any], Awaitable[Any]], *_: Any, **__: Any) -> Any:
        return await work(Nobody())

    patch.setattr(migrate, "exclusively", at_once)
    patch.setattr(migrate, "_guarded", lambda client, _: client)


def dry_runs_write(patch: pytest.MonkeyPatch) -> None:
    real = carried.terms_of.__wrapped__  # type: ignore[attr-defined]

    def terms_of(*given: Any, **more: Any) -> Any:
        for each in real(*given, **more):
            yield structs.replace(each, dry_run=False)

    patch.setattr(fix_refs, "terms_of", contextmanager(terms_of))


def shown_before_it_is_trusted(patch: pytest.MonkeyPatch) -> None:
    """A certificate of a new authority is served and shown as soon as it is made, and nobody tells whom to trust."""

    def switched(seen: Any, stored: Any, now: Any) -> Any:
        return rotation.switch(structs.replace(seen, targets=()), stored, now)

    first = (rotation.start, rotation.trust, switched)
    without = (*first, rotation.switch, rotation.publish, rotation.mend)
    later = tuple(each for each in rotation.RULES if each not in without)
    patch.setattr(rotation, "RULES", (*first, *later))
    patch.setattr(followed, "exchange", lambda *_: Show())


def versions_go_unguarded(patch: pytest.MonkeyPatch) -> None:
    real = lifecycle.removed

    def removed(live: Any, version: str, _uses: Any) -> Any:
        patched = msgspec.json.decode(msgspec.json.encode(live))
        for each in patched["spec"]["versions"]:
            each["served"] = each["served"] and each["name"] != version
        return real(patched, version, Uses())

    patch.setattr(remove_version, "removed", removed)


def detached_unguarded(patch: pytest.MonkeyPatch) -> None:
    for module in (detach, attachment):
        patch.setattr(module, "blockers", lambda _: ())


def foreign_conversion_is_taken(patch: pytest.MonkeyPatch) -> None:
    real = attachment.AttachSnapshot.wish

    def wish(seen: attachment.AttachSnapshot) -> Any:
        found = real.fget(seen)  # type: ignore[attr-defined]
        return structs.replace(found, owner=structs.replace(found.owner, takes_over=True))

    patch.setattr(attachment.AttachSnapshot, "wish", property(wish))
    patch.setattr(attachment, "_left_alone", lambda *_: None)
    patch.setattr(attachment, "is_foreign", lambda *_: False)


def attached_before_replicas_are_able(patch: pytest.MonkeyPatch) -> None:
    """And one that has not read the rules yet refuses, instead of having the API server ask again."""
    patch.setattr(InForce, "awaits", lambda *_: False)
    patch.setattr(attachment, "_awaited", lambda *_: None)


def restores_bound_to_no_version(patch: pytest.MonkeyPatch) -> None:
    real = object_parts.over

    def over(*given: Any) -> bytes:
        tree = msgspec.json.decode(real(*given))
        tree["metadata"].pop("resourceVersion", None)
        return msgspec.json.encode(tree)

    patch.setattr(object_parts, "over", over)


def references_and_more(patch: pytest.MonkeyPatch) -> None:
    real = reference_fix._owners

    def owners(*given: Any) -> Any:
        found = real(*given)
        return [*found, {"op": "add", "path": "/metadata/labels", "value": {"fixed": "yes"}}] if found else found

    patch.setattr(reference_fix, "_owners", owners)


def nothing_is_frozen(patch: pytest.MonkeyPatch) -> None:
    """The policy is there, and denies nobody."""
    real = standstill.policy_of

    def policy_of(scene: Any) -> Any:
        tree = real(scene)
        for each in tree["spec"]["validations"]:
            each["expression"] = "true"
        return tree

    patch.setattr(standstill, "policy_of", policy_of)


def the_gate_is_open(patch: pytest.MonkeyPatch) -> None:
    """Whoever led writes on."""
    patch.setattr(Election, "gate", lambda _: None)


def any_version_leads(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lease_terms, "is_downgrade", lambda *_: False)


def no_guard_before_rounds(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(assembly, "guarded", lambda controller, *_: controller)


def every_payload_is_the_hubs(patch: pytest.MonkeyPatch) -> None:
    real = payload.judged

    def judged(tree: Any, kind: Any) -> Payload:
        found = real(tree, kind)
        return found if found.tree is not None else structs.replace(found, verdict=PayloadVerdict.HUB, tree=tree)

    patch.setattr(widgets, "judged", judged)


def every_upgrade_rolls(patch: pytest.MonkeyPatch) -> None:
    real = HashWays.change

    def change(self: HashWays, *given: Any) -> HashChange:
        found = real(self, *given)
        return HashChange.ROLL if found is HashChange.RESTAMP else found

    patch.setattr(HashWays, "change", change)


def every_start_writes(patch: pytest.MonkeyPatch) -> None:
    """The definition is written whether or not it differs."""
    real = definition_writes._lacks
    written: set[int] = set()

    def lacks(wish: Any, body: Any, live: Any) -> bool:
        metadata = body.setdefault("metadata", {})
        metadata["annotations"] = {
            **metadata.get("annotations", {}),
            "fairlead.dev/seen": live["metadata"]["resourceVersion"],
        }
        if len(written) < 50:
            written.add(len(written))
            return True
        return bool(real(wish, body, live))

    patch.setattr(definition_writes, "_lacks", lacks)
