"""One step of an offline upgrade while it is worked out: what was seen, and how questions are put."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.offline import object_parts
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import (
    MOST_NAMED,
    MOST_PASSES,
    UpgradeCounts,
    UpgradeEnd,
    UpgradeFailure,
    UpgradeJournal,
    UpgradeOutcome,
    UpgradePhase,
    UpgradeSnapshot,
    UpgradeWorld,
    entering,
    moving,
    stopped,
)
from fairlead.contracts.apiversions.decide.offline.upgraded_definitions import is_as
from fairlead.contracts.apiversions.decide.offline.walks import Unfit, good, told, walked
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.act import Does, Replace
from fairlead.core.amounts import counted
from fairlead.core.ask import Answer, Ask, Bad, Discover, Good, Listing, Need, Question, Read, ReadRecord, SwapRecord
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import StepResult
from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop.objects.meta import Ref, Resource, ServedVersion

PAGE_SECONDS = 60.0
SOON = timedelta(seconds=1)
MOST_TRIES = 5
DEFINER = "fairlead"
"""Manager of the fields of definitions, as of those that are registered."""


class ObjectPage(Struct, frozen=True):
    items: list[Tree]
    token: str


class DefinitionLost(Unfit):
    """The definition that the upgrade began with is gone, and all objects with it."""


class StepContext(Struct):
    seen: UpgradeSnapshot
    now: datetime
    journal: UpgradeJournal

    @property
    def world(self) -> UpgradeWorld:
        return self.seen.world

    def told(self, question: Question) -> Answer:
        return told(self.seen.answers, question)

    def good(self, question: Question) -> Good:
        return good(self.seen.answers, question)

    def wait(
        self,
        rule: str,
        journal: UpgradeJournal | None = None,
        after: timedelta = SOON,
        about: tuple[tuple[str, str], ...] = (),
    ) -> UpgradeOutcome:
        """`about` says what is waited for, and what is the matter with it."""
        return StepResult(journal or self.journal, Decision(rule, Hold(Reason.MIGRATING, self.now + after, about)))

    def enter(self, phase: UpgradePhase) -> UpgradeOutcome:
        return entering(self.journal, phase, self.now)

    def record(self, key: str) -> tuple[Any, str]:
        """What is written down under the key, None where nothing is, and the version of that."""
        found = self.good(Ask(ReadRecord(key)))
        return (msgspec.json.decode(found.value) if found.value else None), found.version

    def note(self, key: str, version: str, value: Any) -> str:
        """On the disk when this returns; the version of the record."""
        swap = SwapRecord(key, version, msgspec.json.encode(value))
        return self.good(Ask(swap, effect=True)).version

    def definition(self, after: str = "") -> Tree:
        """The live one; raises DefinitionLost where it is not the one that the upgrade began with."""
        match self.told(Ask(Read(Ref(DEFINITIONS, "", self.journal.crd), after=after))):
            case Bad("absent"):
                raise DefinitionLost("it was deleted meanwhile")
            case Bad(kind, text):
                raise Unfit(text or kind)
            case Good(body):
                tree: Tree = msgspec.json.decode(body)
        if tree["metadata"]["uid"] != self.journal.uid:
            raise DefinitionLost("it was deleted and made again meanwhile")
        return tree

    def define(self, wanted: Callable[[Tree], Tree], says: str) -> Tree:
        """Afterwards the definition is as wanted; the one that the server answered with."""
        for tries in range(MOST_TRIES):
            live = self.definition(f"{says} {tries}")
            tree = wanted(live)
            if is_as(live, tree):
                return live
            write = Replace(
                ref=Ref(DEFINITIONS, "", self.journal.crd),
                body=msgspec.json.encode(tree),
                resource_version=live["metadata"]["resourceVersion"],
                does=Does.APPLY_DEFINITION,
                change_to=says,
                manager=DEFINER,
            )
            match self.told(write):
                case Good(body):
                    written: Tree = msgspec.json.decode(body)
                    return written
                case Bad("conflict"):
                    continue
                case Bad(kind, text):
                    raise Unfit(f"the definition was refused: {text or kind}")
        raise Unfit("the definition is written by others faster than it can be read")

    def serves(self, *versions: str) -> bool:
        """Whether discovery shows the kind in these versions."""
        resource = self.world.new.resource
        found = self.good(Ask(Discover(resource.group, resource.kind))).value
        served = msgspec.json.decode(found, type=list[ServedVersion])
        return set(versions) <= {each.resource.version for each in served}

    @property
    def lacks_versions(self) -> tuple[tuple[str, str], ...]:
        """What is waited for until it serves both."""
        journal = self.journal
        return ((journal.crd, f"is not served in {journal.old} and {journal.new} yet: its conditions say why"),)

    def page(self, resource: Resource, cursor: str) -> ObjectPage | None:
        """The next page, whole objects; None where the cursor serves no longer."""
        listing = Listing(resource, "", limit=self.world.page, cursor=cursor)
        match self.told(Ask(listing, timeout=PAGE_SECONDS)):
            case Bad("expired"):
                return None
            case Bad(kind, text):
                raise Unfit(f"the objects cannot be listed in {resource.version}: {text or kind}")
            case Good(body):
                found = msgspec.json.decode(body)
        items = [{"apiVersion": resource.api_version, "kind": resource.kind, **each} for each in found["items"]]
        return ObjectPage(items, found["metadata"].get("continue") or "")

    def walk(
        self, resource: Resource, walk: Callable[[Tree], str], rule: str, then: Callable[[StepContext], UpgradeOutcome]
    ) -> UpgradeOutcome:
        """One page of a walk over all objects, each of which ends `done`, `again` or `left`; behind the last page
        another walk where some are to be looked at again, and `then` where none is."""
        page = self.page(resource, self.journal.cursor)
        if page is None:
            return moving(structs.replace(self.journal, cursor="", counts=UpgradeCounts()), "begin_again", self.now)
        ends = walked([_bound(walk, each) for each in page.items])
        if isinstance(ends, Need):
            return ends
        after = self._counted(page, ends)
        if page.token:
            return moving(after, rule, self.now)
        if after.counts.failed:
            failed = after.counts.failed
            return stopped(after, f"{counted(failed, 'object')} cannot be done, as named above", UpgradeEnd.FAILED)
        if after.counts.again:
            if after.passes + 1 >= MOST_PASSES:
                many = after.counts.again
                return stopped(
                    after,
                    f"{counted(many, 'object is', 'objects are')} written by others faster than by this run",
                    UpgradeEnd.FAILED,
                )
            again = structs.replace(after, passes=after.passes + 1, counts=UpgradeCounts())
            outrun = counted(after.counts.again, "object")
            return self.wait("walk_again", again, about=((outrun, "written by others meanwhile"),))
        return then(StepContext(self.seen, self.now, after))

    def _counted(self, page: ObjectPage, ends: Iterable[str | Unfit]) -> UpgradeJournal:
        named = list(zip(page.items, ends, strict=True))
        failures = tuple(
            UpgradeFailure(object_parts.name_of(item), str(end)) for item, end in named if isinstance(end, Unfit)
        )
        words = [end for _, end in named if isinstance(end, str)]
        counts = UpgradeCounts(words.count("done"), words.count("again"), words.count("left"), len(failures))
        return structs.replace(
            self.journal,
            cursor=page.token,
            counts=self.journal.counts.plus(counts),
            failures=(*self.journal.failures, *failures)[:MOST_NAMED],
        )


def _bound(walk: Callable[[Tree], str], tree: Tree) -> Callable[[], str]:
    return lambda: walk(tree)
