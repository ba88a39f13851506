"""What scenarios do in a scene, as words: each makes an action of one step."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.e2e.history import Tree
from tests.e2e.webhooks import patching
from tests.kubesim.controllers.scenes import Action, Scene
from tests.kubesim.controllers.telling import REVIEWED

Scenario = tuple[Action, ...]

ROLLING = {"type": "RollingUpdate"}
ON_DELETE = {"type": "OnDelete"}
PARALLEL = "Parallel"


def rolling(**limits: object) -> dict[str, object]:
    return {"type": "RollingUpdate", "rollingUpdate": limits}


async def two_nodes(scene: Scene) -> None:
    await scene.node("n1")
    await scene.node("n2")


def ready(count: int = 100, **which: str) -> Action:
    return lambda scene: scene.make_ready(count, **which)


def started(count: int = 100) -> Action:
    return lambda scene: scene.start(count)


def image(name: str, tag: str) -> Action:
    return lambda scene: scene.change_image(name, f"i:{tag}")


def made(name: str, **spec: Any) -> Action:
    return lambda scene: scene.make(name, **spec)


def changed(name: str, **spec: Any) -> Action:
    return lambda scene: scene.change(name, **spec)


def ended(name: str, policy: str = "Background") -> Action:
    return lambda scene: scene.delete(name, policy)


def claiming(deleted: str = "Retain", scaled: str = "Retain", **spec: Any) -> Action:
    """An ordered set whose pods have a claim each; the words say what becomes of claims."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    templates = [{"metadata": {"name": "data", "labels": {"of": "data"}}, "spec": claim}]
    return made("st", volumeClaimTemplates=templates, **retaining(deleted, scaled), **spec)


def retaining(deleted: str, scaled: str) -> dict[str, Any]:
    return {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted, "whenScaled": scaled}}


def daemons(**spec: Any) -> Action:
    async def act(scene: Scene) -> None:
        await two_nodes(scene)
        await scene.make("da", **spec)

    return act


def at(index: int, act: str, *arguments: object, **named: object) -> Action:
    """Something done to the pod that is so many-th in age."""
    return lambda scene: getattr(scene, act)(scene.pods()[index], *arguments, **named)


def on(node: str, act: str, *arguments: object, **named: object) -> Action:
    """Something done to the pod of a node."""
    return lambda scene: getattr(scene, act)(scene.pods(node=node)[0], *arguments, **named)


def older(action: Action) -> Action:
    """Done when pods are old enough to be told by their age, which counts in seconds."""

    async def act(scene: Scene) -> None:
        await asyncio.sleep(1.1)
        await action(scene)

    return act


def both(*actions: Action) -> Action:
    async def act(scene: Scene) -> None:
        for action in actions:
            await action(scene)

    return act


def denying(operations: str, resources: str, *names: str) -> Action:
    """A webhook refuses such requests, for objects of these names or for all."""

    def decide(request: Tree) -> Tree:
        return {"allowed": bool(names) and request.get("name") not in names, "status": {"message": "not here"}}

    return lambda scene: scene.review(decide, operations, resources, "validating")


def labelling(value: str) -> Action:
    """A webhook gives new pods a label that lines show."""
    patch = patching({"op": "add", "path": f"/metadata/labels/{REVIEWED}", "value": value})
    return lambda scene: scene.review(lambda request: patch, "CREATE", "pods", "mutating")


def unlabelling(label: str) -> Action:
    patch = patching({"op": "remove", "path": f"/metadata/labels/{label}"})
    return lambda scene: scene.review(lambda request: patch, "CREATE", "pods", "mutating")


def absent(policy: str) -> Action:
    """A webhook about new pods that nobody serves."""
    return lambda scene: scene.review(None, "CREATE", "pods", "validating", failurePolicy=policy)


def late(policy: str) -> Action:
    """A webhook about new pods that takes longer than it has."""

    async def decide(request: Tree) -> Tree:
        await asyncio.sleep(1.5)
        return {}

    return lambda scene: scene.review(decide, "CREATE", "pods", "mutating", failurePolicy=policy, timeoutSeconds=1)


async def passing(scene: Scene) -> None:
    """Nobody is asked any more."""
    await scene.pass_everything()


async def pods_gone(scene: Scene) -> None:
    await scene.until(lambda: not scene.pods())


def family(*things: str, blocking: bool = False, held: str = "") -> Action:
    """A chain of things, each the owner of the next."""

    async def act(scene: Scene) -> None:
        owner: tuple[str, ...] = ()
        for name in things:
            await scene.make_thing(name, *owner, blocking=blocking)
            await scene.seen(name)
            owner = (name,)
        if held:
            await scene.hold(held, "test/hold")

    return act
