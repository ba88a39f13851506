"""The leader's rounds about rules: what was good is kept for replicas that find their source gone (section 2.6)."""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.kept_rules import KEY, RulesSeen, Unused, decide
from fairlead.contracts.apiversions.rule_book import RuleBook
from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.engine.controller import BackOff, Controller, LogRecord, RolloutKey, Wake

NAME = "conversion-rules"
DONE = {Does.KEEP_RULES: LogRecord("info", "conversion rules kept")}


def keeping(book: RuleBook, home: str) -> Controller[RulesSeen]:
    """Keys are definitions, and ConfigMaps of which nobody knows what definition they are about."""

    def gather(key: RolloutKey, _: Answers) -> RulesSeen | None:
        loaded = None if key.namespace else book.loaded.get(key.name)
        unused = tuple(Unused(each.source.about, each.why) for each in book.rejected if each.source.key == key)
        if loaded is None and not unused:
            return None
        kept = next((each.data.get(KEY, "") for each in book.kept_maps if each.data.get("crd") == key.name), "")
        return RulesSeen(loaded, home, kept, unused)

    def subscribe(wake: Wake) -> None:
        book.subscribe(lambda namespace, name: wake(RolloutKey((namespace, name)), False))

    return Controller(
        name=NAME,
        informers=(),
        subscribe=subscribe,
        watched=lambda _: {},
        scopes=lambda _: (),
        rollouts=lambda: _keys(book),
        gather=gather,
        versions=lambda seen: (f"{seen.loaded}", seen.kept),
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
