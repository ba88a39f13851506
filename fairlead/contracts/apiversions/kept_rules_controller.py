"""The leader's rounds about rules: what was good is kept for replicas that find their source gone (section 2.6)."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.contracts.apiversions.decide.kept_rules import ATTACHED, KEY, RulesSeen, Unused, decide
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.rule_book import RuleBook
from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.engine.controller import BackOff, Controller, LogRecord, RolloutKey, Wake

NAME = "conversion-rules"
DONE = {Does.KEEP_RULES: LogRecord("info", "conversion rules kept")}


def rules_controller(
    book: RuleBook, home: str, is_attached: Callable[[Tree], bool] = lambda _: False
) -> Controller[RulesSeen]:
    """Keys are definitions, and ConfigMaps of which nobody knows what definition they are about.

    `is_attached` says whether a definition names this operator.
    """

    def gather(key: RolloutKey, _: Answers) -> RulesSeen | None:
        loaded = None if key.namespace else book.loaded.get(key.name)
        unused = tuple(Unused(each.source.about, each.why) for each in book.rejected if each.source.key == key)
        if loaded is None and not unused:
            return None
        kept = next((each.data for each in book.kept_maps if each.data.get("crd") == key.name), {})
        tree = book.definitions.watched(key.name)
        attached = str(tree["metadata"]["uid"]) if tree is not None and is_attached(tree) else ""
        return RulesSeen(loaded, home, kept.get(KEY, ""), unused, attached, kept.get(ATTACHED, ""))

    def subscribe(wake: Wake) -> None:
        book.subscribe(lambda namespace, name: wake(RolloutKey((namespace, name)), False))
        book.definitions.subscribe(lambda name: wake(RolloutKey(("", name)), False))

    return Controller(
        name=NAME,
        informers=(),
        subscribe=subscribe,
        watched=lambda _: {},
        scopes=lambda _: (),
        rollouts=lambda: _keys(book),
        gather=gather,
        versions=lambda seen: (f"{seen.loaded}", seen.kept, seen.attached, seen.noted),
        decide=decide,
        say=lambda *_: (),
        writes=frozenset(DONE),
        done=DONE,
        failure="conversion rules not kept",
        back_off=BackOff(1.0, 60.0),
        background=True,
    )


def _keys(book: RuleBook) -> list[RolloutKey]:
    named = [("", name) for name in book.loaded]
    unused = [each.source.key for each in book.rejected if any(each.source.key)]
    return [*map(RolloutKey, dict.fromkeys([*named, *unused]))]
