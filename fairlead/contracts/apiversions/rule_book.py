"""The rules that one process converts by: from their sources to what is in force (section 2.6 and section 5.3).

Every replica has a book of its own. What is in force is a value that a review takes at its beginning; a change makes
another one. Definitions are watched one by one, those that a set is about: a cluster may have many, and large ones.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.hub_changes import hidden_by
from fairlead.contracts.apiversions.decide.loaded_rules import Loaded, RulesState, Ruling, State, Use, ruled
from fairlead.contracts.apiversions.decide.rule_sets import KIND
from fairlead.contracts.apiversions.decide.rule_sources import Rank, Rejection, RuleSource, chosen, without_gone
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import KEPT_RULES_LABEL, RULES_LABEL
from fairlead.contracts.apiversions.rule_data import MAKER, SetData, essence, joined, read
from fairlead.contracts.apiversions.rule_tests import RuleTests, RuleVerdict
from fairlead.contracts.apiversions.source_files import RuleMap, in_files, in_maps
from fairlead.contracts.apiversions.watched_definitions import WatchedDefinitions
from fairlead.engine.conversion.pool import Pool
from fairlead.engine.conversion.review import ConversionRule
from fairlead.engine.conversion.webhook import SMALL_REVIEW, InForce
from fairlead.engine.conversion.worker import RuleData
from fairlead.engine.part import PartContext
from kubeloop import clock
from kubeloop.errors import KubeError
from kubeloop.informer import Change
from kubeloop.objects.core import CONFIGMAPS

FILES_LOOKED_AT = 10.0
"""Seconds between two looks at files."""
LEARN_SECONDS = 2.0
"""For a look at a definition whose versions may have changed, and for trying its rules anew."""
Key = bytes
"""Digest of a set with the schemas that it was tried with."""


class BuiltIn(Struct, frozen=True):
    """The rules of an own definition, and the definition as this release has it, which need not be registered yet."""

    rules: Tree
    definition: Tree


class RulesInForce(Struct, frozen=True):
    """Rules in force."""

    source: RuleSource
    data: bytes
    rule: ConversionRule


class RuleBook:
    """`built_in` are rule sets of own definitions, which readiness waits for."""

    def __init__(
        self,
        context: PartContext,
        paths: tuple[str, ...],
        *,
        built_in: tuple[BuiltIn, ...] = (),
        shown: Callable[[Mapping[str, Loaded]], None] = lambda _: None,
    ) -> None:
        self._log = context.log
        self._paths = paths
        self._shown = shown
        self._built_in = tuple(RuleSource("this release", Rank.BUILT_IN, each.rules) for each in built_in)
        self._own = {each.definition["metadata"]["name"]: each.definition for each in built_in}
        self._maps, self._kept = (
            context.caches.informer(CONFIGMAPS, RuleMap, namespace=context.home, labels=f"{label}=true", optional=True)
            for label in (RULES_LABEL, KEPT_RULES_LABEL)
        )
        self.definitions = WatchedDefinitions(context, self._wake)
        """Those that sets are about."""
        self._tests = RuleTests(context.log)
        self._files: tuple[RuleSource, ...] = ()
        self._changed = asyncio.Event()
        self._at_rest = asyncio.Event()
        """Set while all is known and looked at."""
        self._verdicts: dict[Key, RuleVerdict] = {}
        self._tried: dict[Key, asyncio.Task[None]] = {}
        self._data: dict[tuple[str, str], tuple[str, RuleSource, tuple[Key, bytes]]] = {}
        """By definition and place of a set: both as data, and the versions that this is of."""
        self._entries: dict[str, RulesInForce] = {}
        self._kinds: dict[str, tuple[bytes, KindConversion]] = {}
        """As far as somebody has asked for them, each with what it was made from."""
        self._has_looked = False
        self._in_force = InForce((), is_complete=False)
        self._awaited: frozenset[str] = frozenset()
        self._renewed: frozenset[str] = frozenset()
        self._pool: Pool | None = None
        self._handlers: list[Callable[[str, str], None]] = []
        self._learned: dict[str, float] = {}
        self._learning: dict[str, asyncio.Event] = {}
        """By group: set when its definitions have been read."""
        self.loaded: Mapping[str, Loaded] = {}
        """By definition."""
        self.rejected: tuple[Rejection, ...] = ()
        """Sets that are not used whatever is in them."""
        for each in (self._maps, self._kept):
            each.subscribe(self._changed_map)

    def subscribe(self, handler: Callable[[str, str], None]) -> None:
        """Called with an empty text and the name of a definition whose rules are others than before, or stand
        otherwise; or with namespace and name of a ConfigMap that is about no definition."""
        self._handlers.append(handler)

    def in_force(self) -> InForce:
        return self._in_force

    @property
    def own(self) -> frozenset[str]:
        """Definitions that are registered, and not attached by rules."""
        return frozenset(self._own)

    def kind(self, crd: str) -> KindConversion | None:
        """How objects of the definition are converted now; None: they are not."""
        entry = self._entries.get(crd)
        if entry is None:
            return None
        data, kind = self._kinds.get(crd, (b"", None))
        if kind is None or data != entry.data:
            kind = read(entry.data).kind()
            self._kinds[crd] = (entry.data, kind)
        return kind

    @property
    def kept_maps(self) -> Iterable[RuleMap]:
        """What the leader has kept."""
        return self._kept.store.items()

    def use(self, pool: Pool | None) -> None:
        """Large reviews go there; None: they are converted in place."""
        self._pool = pool
        self._put_in_force()

    def obstacle(self) -> str:
        """Why this replica cannot convert own kinds; empty: it can."""
        for source in self._built_in:
            if source.crd not in self._entries:
                found = self.loaded.get(source.crd)
                return f"the rules of {source.crd} are not loaded{f': {found.problem}' if found else ''}"
        return ""

    async def run(self) -> None:
        """Keeps the rules in step with their sources until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            try:
                await self._settled()
                await self._read_files()
                while True:
                    self._changed.clear()
                    self._look(tasks)
                    if not self._tried:
                        self._at_rest.set()
                    await self._wait()
            finally:
                for task in self._tried.values():
                    task.cancel()
                await self._tests.close()

    async def learn(self, group: str) -> None:
        """Versions of this group may be new, or fields: its definitions are read, and its rules tried anew, once in a
        while. Who asks meanwhile waits for the same."""
        if (under_way := self._learning.get(group)) is not None:
            await under_way.wait()
            return
        now = clock.monotonic()
        names = [name for name in self.loaded if _group(name) == group]
        if not names or now - self._learned.get(group, float("-inf")) < LEARN_SECONDS:
            return
        self._learned[group] = now
        self._learning[group] = over = asyncio.Event()
        try:
            with suppress(TimeoutError, KubeError):
                async with asyncio.timeout(LEARN_SECONDS):
                    for name in names:
                        await self.definitions.fetch(name)
                    await self._at_rest.wait()
        finally:
            del self._learning[group]
            over.set()

    async def _settled(self) -> None:
        for each in (self._maps, self._kept):
            await each.settled.wait()

    async def _read_files(self) -> None:
        if self._paths:
            self._files = (
                in_files(self._paths) if clock.is_virtual() else await asyncio.to_thread(in_files, self._paths)
            )

    async def _wait(self) -> None:
        """Until something has changed, or the files are due."""
        seconds = FILES_LOOKED_AT if self._paths and not clock.is_virtual() else None
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            await self._read_files()

    def _wake(self) -> None:
        self._at_rest.clear()
        self._changed.set()

    def _changed_map(self, _: Change[RuleMap]) -> None:
        self._wake()

    def _look(self, tasks: asyncio.TaskGroup) -> None:
        """What is in force after all that is known now; what is not known yet is being found out."""
        choice = chosen((*self._built_in, *self._files, *in_maps(self._maps.store.items())))
        kept = {each.crd: each for each in in_maps(self._kept.store.items()) if each.tree.get("kind") == KIND}
        names = sorted({*choice.chosen, *kept, *self._entries})
        self.definitions.follow(names)
        wanted: set[Key] = set()
        rulings: dict[str, Ruling] = {}
        loaded: dict[str, Loaded] = {}
        for name in names:
            definition = self._definition(name)
            if definition is not None and name in kept:
                kept[name] = without_gone(kept[name], definition)
            tries = [self._tried_set(name, each, definition) for each in (choice.chosen.get(name), kept.get(name))]
            wanted |= {key for _, key, _ in tries if key}
            (source, source_key, source_data), (spare, spare_key, spare_data) = tries
            hidden = self._hidden(name, choice.chosen.get(name), kept.get(name), definition)
            source = RulesState.BAD if hidden else source
            held = self._entries.get(name) if definition is not None else None
            rulings[name] = ruling = ruled(source, spare, is_held=held is not None)
            match ruling.use:
                case Use.SOURCE:
                    self._entries[name] = self._entry(choice.chosen[name], source_data, source_key)
                case Use.KEPT:
                    self._entries[name] = self._entry(kept[name], spare_data, spare_key)
                case Use.NOTHING:
                    self._entries.pop(name, None)
            verdict = self._verdicts.get(source_key)
            problem = hidden or ("; ".join(verdict.problems) if verdict is not None else "")
            loaded[name] = self._described(name, ruling, choice.chosen.get(name), definition, problem)
            for standing, key, data in tries:
                if standing is RulesState.TRIED and key and key not in self._tried:
                    self._tried[key] = tasks.create_task(self._try(key, data))
        self._verdicts = {key: each for key, each in self._verdicts.items() if key in wanted}
        self._data = {place: each for place, each in self._data.items() if each[2][0] in wanted}
        self._awaited = frozenset(_group(name) for name, each in rulings.items() if each.is_awaited)
        self._renewed = frozenset(_group(name) for name, each in rulings.items() if each.is_renewed)
        self._publish(loaded, choice.rejected)

    def _definition(self, name: str) -> Tree | None:
        """Of an own one the versions of this release, and whatever others the cluster has."""
        live, own = self.definitions.tree(name), self._own.get(name)
        return live if own is None else joined(own, live)

    def _tried_set(
        self, name: str, source: RuleSource | None, definition: Tree | None
    ) -> tuple[RulesState, Key, bytes]:
        if source is None:
            return RulesState.NONE, b"", b""
        if definition is None:
            return (RulesState.NONE if self.definitions.is_known(name) else RulesState.TRIED), b"", b""
        key, data = self._encoded(name, source, definition)
        verdict = self._verdicts.get(key)
        if verdict is None:
            return RulesState.TRIED, key, data
        return RulesState.BAD if verdict.rule is None else RulesState.GOOD, key, data

    def _hidden(self, name: str, source: RuleSource | None, kept: RuleSource | None, definition: Tree | None) -> str:
        """What keeps a set with another hub than the one before from being used; code is not kept, and so not asked."""
        if source is None or definition is None or source.anyway or source.tree.get("python") or name in self._own:
            return ""
        held = self._entries.get(name)
        hub, hub_held = source.tree.get("hub"), "" if held is None else held.source.tree.get("hub")
        before = hub_held if kept is None or hub_held == hub else kept.tree.get("hub")
        return hidden_by(str(before or ""), str(hub), definition)

    def _encoded(self, name: str, source: RuleSource, definition: Tree) -> tuple[Key, bytes]:
        """The set with its schemas, and their digest; large ones are not written again for nothing."""
        version = definition["metadata"].get("resourceVersion", "")
        place = name, source.place
        found = self._data.get(place)
        if found is not None and found[0] == version and found[1] == source:
            return found[2]
        data = msgspec.json.encode(SetData(source.tree, essence(definition), source.is_trusted))
        made = hashlib.sha256(data).digest(), data
        self._data[place] = version, source, made
        return made

    async def _try(self, key: Key, data: bytes) -> None:
        try:
            self._verdicts[key] = await self._tests.verdict(data)
        finally:
            del self._tried[key]
            self._wake()

    def _entry(self, source: RuleSource, data: bytes, key: Key) -> RulesInForce:
        rule = self._verdicts[key].rule
        if rule is None:
            raise TypeError("rules in force that are none")
        return RulesInForce(source, data, rule)

    def _described(
        self, name: str, ruling: Ruling, source: RuleSource | None, definition: Tree | None, problem: str
    ) -> Loaded:
        entry = self._entries.get(name)
        known = () if entry is None else tuple(each.rpartition("/")[2] for each in entry.rule.versions)
        there = () if definition is None else tuple(each["name"] for each in definition["spec"]["versions"])
        is_source = ruling.use is Use.SOURCE and source is not None
        return Loaded(
            crd=name,
            state=ruling.state,
            versions=tuple(each for each in known if each in there),
            uncovered=tuple(each for each in there if each not in known) if entry is not None else (),
            text=source.text if is_source and source is not None and not source.tree.get("python") else "",
            wants_attachment=entry is not None and bool(entry.source.tree.get("attach")),
            has_source=source is not None,
            anyway=source is not None and source.anyway,
            source=None if source is None else source.about,
            problem=problem,
            definition=self.definitions.ref(name),
        )

    def _publish(self, loaded: dict[str, Loaded], rejected: tuple[Rejection, ...]) -> None:
        changed = [name for name in {**self.loaded, **loaded} if self.loaded.get(name) != loaded.get(name)]
        unused = () if rejected == self.rejected else (*self.rejected, *rejected)
        self._tell_unused(rejected)
        self.loaded, self.rejected, self._has_looked = loaded, rejected, True
        self._put_in_force()
        self._shown(loaded)
        for name in changed:
            self._tell(loaded.get(name))
        for key in dict.fromkeys(
            [*(("", name) for name in changed), *(each.source.key for each in unused if any(each.source.key))]
        ):
            for handler in self._handlers:
                handler(*key)

    def _tell_unused(self, rejected: tuple[Rejection, ...]) -> None:
        for each in rejected:
            if each not in self.rejected:
                self._log.warning("conversion rules not used", place=each.source.place, error=each.why)

    def _tell(self, found: Loaded | None) -> None:
        if found is None:
            return
        if found.problem:
            self._log.warning("conversion rules rejected", crd=found.crd, state=found.state.value, error=found.problem)
        elif found.state is State.LOADED:
            self._log.info("conversion rules loaded", crd=found.crd, versions=", ".join(found.versions))

    def _put_in_force(self) -> None:
        entries = [self._entries[name] for name in sorted(self._entries)]
        rules = tuple(each.rule for each in entries)
        elsewhere = None
        if self._pool is not None and entries:
            elsewhere = self._pool.by(RuleData(MAKER, b"[" + b",".join(each.data for each in entries) + b"]"))
        # Code of others may take its time: it gets none of this process's.
        small = 0 if any(each.source.tree.get("python") for each in entries) else SMALL_REVIEW
        self._in_force = InForce(rules, elsewhere, small, self._awaited, self._renewed, self._has_looked)


def _group(crd: str) -> str:
    return crd.partition(".")[2]
