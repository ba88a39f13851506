"""People who write gauges and look at them, in every version; the referee is told what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from kubeloop import request
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON_PATCH, MERGE_PATCH, Request, Response
from kubesim.store.versions import Tree
from tests.chaos.apiversions import facts
from tests.chaos.apiversions.kinds import DEFINITIONS, GAUGES, KIND, NAME
from tests.chaos.apiversions.model import PART, Kept, Leaves, changed, leaves_of, shows, spec_of
from tests.chaos.world import NAMESPACE

if TYPE_CHECKING:
    from tests.chaos.apiversions.world import ApiWorld

HAND = "hand"
"""The manager of what is written without apply."""
COLOURS, FINISHES = ("red", "green", "blue"), ("matt", "gloss")


def leaves_for(version: str, number: int) -> Leaves:
    """Some that this version can hold, others for every number."""
    every: Leaves = {
        "size": number,
        "colour": COLOURS[number % 3],
        "legacy": number % 2 == 0,
        "finish": FINISHES[number % 2],
        "note": f"note {number}",
        "wait": f"0m{number + 1}s" if version == "v1" and number % 2 else f"{number + 1}s",
        **{f"{PART}p{each}": number + each for each in range(number % 3)},
    }
    return {leaf: value for leaf, value in every.items() if shows(version, leaf)}


class People:
    def __init__(self, world: ApiWorld) -> None:
        self._world = world
        self._judge = world.judge

    @property
    def names(self) -> list[str]:
        return sorted(self._judge.stored)

    def served(self) -> list[str]:
        definition = self._judge.definition
        return [] if definition is None else [each for each in facts.served_of(definition) if each in GAUGES]

    # Objects.

    async def create(self, name: str, version: str, number: int) -> None:
        leaves = leaves_for(version, number)
        tree = self._tree(name, version, spec_of(leaves, version))
        tree["metadata"]["labels"] = {"number": str(number)}
        made = Kept()
        made.updated(leaves, version, HAND)
        sent = request.create(GAUGES[version], NAMESPACE, msgspec.json.encode(tree), manager=HAND)
        is_new = name not in self._judge.stored
        if await self._written(name, sent, lambda: self._judge.kept.__setitem__(name, made)) and is_new:
            await self._own(name, version)

    async def replace(self, name: str, version: str, changes: Leaves, *, keeps: bool = True) -> None:
        """Reads it in this version and puts it back with changes; without what it carried unless that is kept."""
        found = await self._read(name, version)
        if found is None:
            return
        said = {leaf: value for leaf, value in changes.items() if shows(version, leaf)}
        found["spec"] = changed(found.get("spec") or {}, said, version)
        if not keeps:
            found["metadata"].pop("annotations", None)
        sent = request.replace(self._ref(name, version), msgspec.json.encode(found), manager=HAND)
        await self._written(name, sent, lambda: self._judge.kept[name].replaced(said, version, HAND, keeps=keeps))

    async def patch(self, name: str, version: str, changes: Leaves) -> None:
        """A merge patch of single leaves."""
        known = {leaf: value for leaf, value in changes.items() if shows(version, leaf) and not leaf.startswith(PART)}
        body: Tree = {"spec": spec_of(known, version)}
        sent = request.patch(self._ref(name, version), MERGE_PATCH, msgspec.json.encode(body))
        sent = structs.replace(sent, query=(*sent.query, ("fieldManager", HAND)))
        await self._written(name, sent, lambda: self._judge.kept[name].updated(known, version, HAND))

    async def apply(self, name: str, version: str, leaves: Leaves) -> None:
        """By the manager of this version, who says all that it wants each time."""
        said = {leaf: value for leaf, value in leaves.items() if shows(version, leaf)}
        tree = self._tree(name, version, spec_of(said, version))
        manager = f"manager-{version}"
        sent = request.apply(self._ref(name, version), msgspec.json.encode(tree), manager, force=True)
        is_new = name not in self._judge.stored

        def change() -> None:
            if is_new:
                self._judge.kept[name] = Kept()
            self._judge.kept[name].applied(said, version, manager)

        if await self._written(name, sent, change) and is_new:
            await self._own(name, version)

    async def set_phase(self, name: str, version: str, phase: str) -> None:
        body = msgspec.json.encode({"status": {"phase": phase}})
        await self._written(name, request.patch(self._ref(name, version), MERGE_PATCH, body, "status"), lambda: None)

    async def remove(self, name: str, version: str) -> None:
        await self._world.send(request.delete(self._ref(name, version)))
        if name not in self._judge.stored:
            self._judge.tainted.discard(name)

    async def _own(self, name: str, version: str) -> None:
        """Something that the object owns, by a reference in this version."""
        tree = self._judge.stored.get(name)
        if tree is None:
            return
        owner = {"apiVersion": GAUGES[version].api_version, "kind": KIND, "name": name, "uid": tree["metadata"]["uid"]}
        metadata = {"name": f"of-{name}", "ownerReferences": [owner]}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}
        await self._world.send(request.create(SECRETS, NAMESPACE, msgspec.json.encode(made)))

    # Looks.

    async def look(self, name: str) -> None:
        """In every version that is served."""
        for version in self.served():
            was_calm = self._world.is_calm()
            answer = await self._world.send(request.get(self._ref(name, version)))
            if not was_calm or not self._world.is_calm():
                continue
            self._judged(name, version, answer)
        self._world.check()

    async def look_at_all(self) -> None:
        for name in self.names:
            await self.look(name)

    def _judged(self, name: str, version: str, answer: Response | None) -> None:
        if answer is None or answer.status >= 500:
            text = "no answer" if answer is None else answer.body.decode()
            self._judge.unreadable(f"{name} in {version}", text)
        elif answer.status == 200 and name not in self._judge.tainted:
            tree = msgspec.json.decode(answer.body)
            self._judge.shown(name, version, leaves_of(tree.get("spec"), version))

    # The definition.

    async def change_definition(self, body: Any, kind: str = MERGE_PATCH) -> int:
        """Past all guards, as somebody with `kubectl` would."""
        sent = request.patch(Ref(DEFINITIONS, "", NAME), kind, msgspec.json.encode(body))
        answer = await self._world.send(sent)
        return 0 if answer is None else answer.status

    async def change_versions(self, change: Callable[[list[Tree]], list[Tree]]) -> int:
        definition = self._judge.definition
        assert definition is not None
        versions = change(msgspec.json.decode(msgspec.json.encode(definition["spec"]["versions"])))
        return await self.change_definition(
            [{"op": "replace", "path": "/spec/versions", "value": versions}], JSON_PATCH
        )

    # How.

    async def _read(self, name: str, version: str) -> Tree | None:
        if not self._judge.is_converted():
            return None
        answer = await self._world.send(request.get(self._ref(name, version)))
        if answer is None or answer.status != 200 or not self._judge.is_converted():
            return None
        tree: Tree = msgspec.json.decode(answer.body)
        return tree

    async def _written(self, name: str, sent: Request, change: Callable[[], None]) -> bool:
        """Whether it was carried out; an answer that is an error may come after a write that was stored."""
        judge = self._judge
        before, was_converted = judge.people_wrote.get(name, 0), judge.is_converted()
        answer = await self._world.send(sent)
        is_stored = judge.people_wrote.get(name, 0) != before
        is_done = is_stored or (answer is not None and answer.status < 300)
        if is_done:
            change()
            if not was_converted or not judge.is_converted():
                judge.tainted.add(name)
            elif name in judge.tainted and sent.method == "POST":
                judge.tainted.discard(name)
            self._look_at_owners(name)
        self._world.check()
        return is_done

    def _look_at_owners(self, name: str) -> None:
        """Where a write could not be converted, the API server forgets who manages what."""
        tree, kept = self._judge.stored.get(name), self._judge.kept.get(name)
        if tree is None or kept is None:
            return
        known = {manager for manager, _, _ in facts.managers_of(tree)}
        if {each for who in kept.owners.values() for each in who} - known:
            kept.is_unowned = True

    @staticmethod
    def _ref(name: str, version: str) -> Ref:
        return Ref(GAUGES[version], NAMESPACE, name)

    @staticmethod
    def _tree(name: str, version: str, spec: Tree) -> Tree:
        resource = GAUGES[version]
        metadata = {"name": name, "namespace": NAMESPACE}
        return {"apiVersion": resource.api_version, "kind": KIND, "metadata": metadata, "spec": spec}
