"""What an operator runs for boxes."""

from typing import Any, cast

from fairlead.core.act import Does
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.part import Part, PartContext
from kubeloop.informer import Informer
from tests.toy.decide import NOUN, PART, decide, explain, observed
from tests.toy.kinds import BOXES, Box


def key_of(seen: Box) -> RolloutKey:
    return RolloutKey((seen.metadata.namespace, seen.metadata.name))


def part(context: PartContext, _: object) -> Part:
    caches, namespaces = context.caches, context.namespaces or ("",)
    boxes: dict[str, Informer[Any]] = {name: caches.informer(BOXES, Box, namespace=name) for name in namespaces}

    def of(key: RolloutKey) -> Box | None:
        return (boxes.get(key.namespace) or boxes[""]).store.get(*key)

    def subscribe(wake: Wake) -> None:
        for each in boxes.values():
            each.subscribe(lambda change: wake(key_of(cast("Box", change.new or change.old)), change.initial))

    controller: Controller[Any] = Controller(
        name=PART,
        noun=NOUN,
        informers=tuple(boxes.values()),
        subscribe=subscribe,
        watched=lambda key: {BOXES: boxes.get(key.namespace) or boxes[""]},
        scopes=lambda key: [box.metadata.uid for box in (of(key),) if box is not None],
        rollouts=lambda: [key_of(box) for each in boxes.values() for box in each.store.items()],
        gather=lambda key, _: of(key),
        versions=lambda seen: (f"{seen.metadata.uid}@{seen.metadata.resource_version}",),
        decide=decide,
        say=lambda _seen, decision, _now: (LogRecord("info", f"box: {decision.rule}"),),
        writes=frozenset({Does.REPORT_STATUS}),
        done={Does.REPORT_STATUS: LogRecord("info", "box painted")},
        explain=explain,
        observed=observed,
    )
    return Part(name=PART, controllers=(controller,))
