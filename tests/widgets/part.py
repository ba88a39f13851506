"""What an operator runs for Widgets."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from msgspec import structs

from fairlead.contracts.apiversions.decide.payload import PayloadVerdict, judged
from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.decide.guard import GuardedObject, subject_of
from fairlead.engine.part import Part, PartContext
from kubeloop.informer import Change, Informer
from kubeloop.objects.apps import STATEFULSETS
from tests.widgets.decide import NOUN, PART, Seen, Settings, decide
from tests.widgets.kinds import KIND, OF_WIDGET, WIDGETS, Widget, Workload

WRITES = frozenset(
    {Does.ADD_FINALIZER, Does.REMOVE_FINALIZER, Does.APPLY_OBJECT, Does.REPORT_STATUS, Does.REWRITE_OBJECT}
)


def part(context: PartContext, settings: Settings) -> Part:
    (namespace,) = context.namespaces
    widgets: Informer[Widget] = context.caches.informer(WIDGETS, Widget, namespace=namespace)
    workloads: Informer[Workload] = context.caches.informer(
        STATEFULSETS, Workload, namespace=namespace, labels=OF_WIDGET
    )

    def subscribe(wake: Wake) -> None:
        def changed(change: Change[Any]) -> None:
            meta = cast("Any", change.new or change.old).metadata
            wake(RolloutKey((meta.namespace, meta.name)), change.initial)

        widgets.subscribe(changed)
        workloads.subscribe(changed)

    def gather(key: RolloutKey, answers: Answers) -> Seen | None:
        found = widgets.store.get(*key)
        return None if found is None else Seen(found, workloads.store.get(*key), settings, answers)

    def observe(key: RolloutKey, seen: Seen, _: Decision, __: datetime) -> None:
        verdict = judged(seen.widget.tree, KIND).verdict
        word = "" if verdict is PayloadVerdict.HUB else verdict.value
        context.metrics.mismatched.passed(WIDGETS, *key, word)

    def scopes(key: RolloutKey) -> tuple[str, ...]:
        found = widgets.store.get(*key)
        return () if found is None else (found.metadata.uid,)

    controller: Controller[Any] = Controller(
        name=PART,
        noun=NOUN,
        informers=(cast("Any", widgets), cast("Any", workloads)),
        subscribe=subscribe,
        watched=lambda _: cast("Any", {WIDGETS: widgets, STATEFULSETS: workloads}),
        scopes=scopes,
        rollouts=lambda: [RolloutKey((each.metadata.namespace, each.metadata.name)) for each in widgets.store.items()],
        gather=gather,
        guards=_subject,
        versions=lambda seen: (f"{seen.widget.metadata.uid}@{seen.widget.metadata.resource_version}",),
        decide=decide,
        say=lambda _seen, decision, _now: (LogRecord("info", f"widget: {decision.rule}"),),
        writes=WRITES,
        done={each: LogRecord("info", each.value) for each in WRITES},
        observe=observe,
    )
    return Part(name=PART, controllers=(controller,))


def _subject(seen: Seen) -> GuardedObject:
    meta = seen.widget.metadata
    made = () if seen.workload is None else (seen.workload.metadata,)
    found = subject_of(WIDGETS, meta, meta.annotations, made, seen.answers)
    return structs.replace(found, has_predecessors=seen.settings.has_predecessors)
