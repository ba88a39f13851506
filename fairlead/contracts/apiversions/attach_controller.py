"""The leader's rounds about definitions of others whose objects this operator converts (section 3.13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any

from msgspec import Struct, structs

from fairlead.contracts.apiversions.conversion_listener import owner_of, webhook_of
from fairlead.contracts.apiversions.decide.attachment import SPACED, AttachSet, AttachSnapshot, attach
from fairlead.contracts.apiversions.decide.kept_rules import ATTACHED
from fairlead.contracts.apiversions.decide.loaded_rules import Loaded
from fairlead.contracts.apiversions.decide.pruned_leaves import schemas_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import CONVERTIBLE
from fairlead.contracts.apiversions.rule_book import RuleBook
from fairlead.contracts.apiversions.samples import sample
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.core.act import AnyWrite, Does
from fairlead.core.ask import Answers, Good
from fairlead.core.decision import Decision, Hold
from fairlead.engine.certificates import pairs
from fairlead.engine.controller import BackOff, Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.decide import conversion_probe
from fairlead.engine.decide.conversion_probe import Probed, ProbeResult
from fairlead.engine.decide.definition_rounds import Repairs
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.owned_definitions import is_ours
from fairlead.engine.decide.registration import DEFINITIONS, authority_of
from fairlead.engine.decide.replicas import ReplicaQuestion
from kubeloop import clock
from kubeloop.errors import Garbled
from kubeloop.informer import Informer
from kubeloop.objects.meta import Ref, Resource
from kubeloop.records import MemoryRecords

NAME = "attached-definitions"
DONE = {
    Does.APPLY_DEFINITION: LogRecord("info", "definition written"),
    Does.REPAIR_DEFINITION: LogRecord("warn", "conversion of a definition put back"),
}
LOST_RESULT = "lost"
"""In the place of what a probe says."""
PROBE_AGAIN = timedelta(seconds=30)
"""Until a webhook that the API server did not reach is tried again."""


class _Probe(Struct, frozen=True):
    of: tuple[str, int]
    """UID and generation of the definition."""
    found: ProbeResult
    asked: clock.Moment


class AttachedDefinitions:
    """Of one process. `bundle` is what whoever begins to call here is to trust; `shown` hears what probes say."""

    def __init__(
        self,
        book: RuleBook,
        settings: ApiVersionsSettings,
        home: str,
        bundle: Callable[[], bytes],
        shown: Callable[[Mapping[str, str]], None] = lambda _: None,
    ) -> None:
        self._book = book
        self._home = home
        self._bundle = bundle
        self._shown = shown
        self._webhook = webhook_of(settings, home)
        self._owner = owner_of(settings, home)
        self._replicas = ReplicaQuestion(self._webhook.namespace, self._webhook.name, CONVERTIBLE)
        self._repairs: dict[str, Repairs] = {}
        self._ours: set[str] = set()
        """Definitions that were seen attached since this replica leads."""
        self._lost: set[str] = set()
        """Those whose conversion somebody takes away again and again, while that is so."""
        self._probes: dict[str, _Probe] = {}
        self.controller: Controller[AttachSnapshot] = Controller(
            name=NAME,
            informers=(),
            subscribe=self._subscribe,
            watched=self._watched,
            scopes=lambda _: (),
            rollouts=lambda: map(_key, self._book.loaded),
            gather=self._gather,
            versions=_versions,
            decide=attach,
            say=_said,
            writes=frozenset({*DONE, Does.APPLY_OBJECT}),
            done={**DONE, Does.APPLY_OBJECT: LogRecord("debug", "creation of an object tried")},
            observe=self._observe,
            wrote=self._wrote,
            rolled=lambda seen, _: Ref(DEFINITIONS, "", seen.name),
            records=MemoryRecords(),  # a look at objects counts for a minute: nobody goes on with another's
            refusals_hold=False,
            refuses=lambda bad: bad.kind == "conflict",
            background=True,
            failure="definition not attached",
            back_off=BackOff(1.0, 60.0),
        )

    def leads(self, leading: bool) -> None:
        """Whoever led meanwhile may have done anything."""
        if leading:
            self._ours.clear()
            self._probes.clear()
            self._lost.clear()
            self._repairs.clear()

    def _subscribe(self, wake: Wake) -> None:
        def woken(namespace: str, name: str) -> None:
            # A ConfigMap that can be read again, or not any more, may be that of any definition.
            for each in self._book.loaded if namespace else (name,):
                wake(_key(each), False)

        self._book.subscribe(woken)
        self._book.definitions.subscribe(lambda name: wake(_key(name), False))

    def _watched(self, key: RolloutKey) -> Mapping[Resource, Informer[Any]]:
        informer = self._book.definitions.informer(key.name)
        return {} if informer is None else {DEFINITIONS: informer}

    def _gather(self, key: RolloutKey, answers: Answers) -> AttachSnapshot | None:
        loaded = self._book.loaded.get(key.name)
        if loaded is None:
            return None
        cached, bundle = self._book.definitions.watched(key.name), self._bundle()
        rules = self._set(loaded)
        seen = AttachSnapshot(
            name=key.name,
            rules=rules,
            webhook=self._webhook,
            bundle=bundle,
            enough=frozenset(),
            owner=self._owner,
            replicas=self._replicas,
            repairs=self._repairs.get(key.name, Repairs()),
            was_ours=key.name in self._ours and rules.wants,
            was_attached=self._was_attached(key.name, cached),
            probed=self._probed(key.name, cached),
            samples=_samples(cached) if rules.wants and cached is not None else {},
            home=self._home,
            cached=cached,
            answers=answers,
        )
        live = _live(answers, seen)
        held = {authority_of(tree) or b"" for tree in (cached, live) if tree is not None}
        return structs.replace(seen, live=live, enough=frozenset(each for each in held if _is_enough(each, bundle)))

    def _was_attached(self, name: str, cached: Tree | None) -> bool:
        """Whether a leader before has noted it of the same definition."""
        noted = next((each.data.get(ATTACHED, "") for each in self._book.kept_maps if each.data.get("crd") == name), "")
        return cached is not None and bool(noted) and noted == cached["metadata"].get("uid")

    def _set(self, loaded: Loaded) -> AttachSet:
        if loaded.crd in self._book.own:
            return AttachSet()
        unreadable = any(not each.source.tree for each in self._book.rejected)
        wants = loaded.has_source and loaded.wants_attachment
        return AttachSet(
            wants=wants,
            is_gone=not loaded.has_source and not unreadable,
            versions=loaded.versions,
            kind=self._book.kind(loaded.crd) if wants else None,
            anyway=loaded.anyway,
            about=loaded.source,
        )

    def _probed(self, name: str, cached: Tree | None) -> ProbeResult | None:
        probe = self._probes.get(name)
        if probe is None or cached is None or probe.of != _state(cached):
            return None
        failed = probe.found.result is Probed.FAILS
        return None if failed and clock.now() - probe.asked.at >= PROBE_AGAIN else probe.found

    def _observe(self, key: RolloutKey, seen: AttachSnapshot, decision: Decision, now: datetime) -> None:
        name, cached = key.name, seen.cached
        attached = cached is not None and is_ours(cached, self._webhook, self._owner)
        if attached and seen.rules.wants:
            self._ours.add(name)
        elif not seen.rules.wants:
            self._ours.discard(name)
        if cached is not None and decision.rule == "in_order" and seen.probed is None and attached:
            asked = conversion_probe.questions(cached, seen.samples, seen.home, seen.answers)
            if all(each in seen.answers.known for each in asked):
                self._probes[name] = _Probe(
                    _state(cached), conversion_probe.result(asked, seen.answers), clock.Moment(now)
                )
        if not attached:
            self._probes.pop(name, None)
        if decision.rule == SPACED and not attached:
            self._lost.add(name)
        else:
            self._lost.discard(name)
        probed = {name: each.found.result.value for name, each in self._probes.items()}
        self._shown(probed | dict.fromkeys(self._lost, LOST_RESULT))

    def _wrote(self, key: RolloutKey, writes: tuple[AnyWrite, ...]) -> None:
        if any(each.does is Does.REPAIR_DEFINITION for each in writes):
            self._repairs[key.name] = self._repairs.get(key.name, Repairs()).after(clock.now())


def _key(name: str) -> RolloutKey:
    return RolloutKey(("", name))


def _state(tree: Tree) -> tuple[str, int]:
    return str(tree["metadata"].get("uid", "")), int(tree["metadata"].get("generation", 0))


def _samples(definition: Tree) -> dict[str, Tree]:
    schemas = schemas_of(definition)
    chance = Random(definition["metadata"]["name"])  # noqa: S311  (the same every time)
    return {each: sample(schemas[each], chance) for each in conversion_probe.probed_versions(definition)}


def _is_enough(held: bytes, wanted: bytes) -> bool:
    """Whether one authority that is served under is among them; the others are seen to where certificates are kept."""
    return not wanted or bool({*dict(pairs.authorities(held))} & {*dict(pairs.authorities(wanted))})


def _live(answers: Answers, seen: AttachSnapshot) -> Tree | None:
    found = answers.known.get(seen.read)
    try:
        return definition_in(found.value, f"definition {seen.name}") if isinstance(found, Good) else None
    except Garbled:
        return None


def _versions(seen: AttachSnapshot) -> tuple[str, ...]:
    trees = [tree for tree in (seen.cached, seen.live) if tree is not None]
    return tuple(f"{seen.name}@{tree['metadata']['resourceVersion']}" for tree in trees)


def _said(seen: AttachSnapshot, decision: Decision, _: datetime) -> tuple[LogRecord, ...]:
    verdict = decision.verdict
    if not isinstance(verdict, Hold) or not verdict.details:
        return ()
    keys = {"name": seen.name, "reason": verdict.reason.word, "error": verdict.details[0][1]}
    return (LogRecord("info", "definition not attached yet", keys),)
