"""An informer of pods on a scripted server, and the ways to run it and to take its watch away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from kubeloop import clock
from kubeloop.informer import Change, Informer
from kubeloop.objects.core import PODS, Pod
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.kubeloop.scripted import Scripted


class Scene:
    """An informer of pods on a scripted server, and everything its subscriber was told."""

    def __init__(self, *, page: int = 500) -> None:
        self.api = Scripted()
        self.troubles: list[Exception] = []
        self.restored: list[float] = []
        self.told: list[Change[Pod]] = []
        self.informer: Informer[Pod] = Informer(
            self.api.client(),
            PODS,
            Pod,
            indexes={"app": lambda pod: [pod.metadata.labels.get("app", "")]},
            page=page,
            seed=1,
            trouble=self.troubles.append,
            restored=lambda: self.restored.append(clock.monotonic()),
        )
        self.informer.subscribe(self.told.append)

    def names(self) -> list[str]:
        return [pod.metadata.name for pod in self.informer.store.items()]

    def story(self) -> list[str]:
        return [tell(change) for change in self.told]


def tell(change: Change[Pod]) -> str:
    if change.old is None:
        assert change.new is not None
        return f"+{change.new.metadata.uid}"
    return f"-{change.old.metadata.uid}" if change.new is None else f"~{change.new.metadata.uid}"


@asynccontextmanager
async def running(scene: Scene) -> AsyncIterator[None]:
    """The informer at work, its first list done and its watch open for some seconds."""
    task = asyncio.create_task(scene.informer.run())
    try:
        await scene.informer.synced.wait()
        await asyncio.sleep(2)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def settle() -> None:
    """Virtual time passes, too little for any wait of the informer to end."""
    await asyncio.sleep(0.01)


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scene()

    run(whole(), steps=100_000)


def once(response: Response, *, watch: bool) -> Callable[[Request, str], Awaitable[Response | None]]:
    """Answers the next list or watch with this."""
    left = [response]

    async def fault(request: Request, _: str) -> Response | None:
        return left.pop() if left and (("watch", "true") in request.query) == watch else None

    return fault


def expire_by_status(api: Scripted) -> None:
    api.compact()
    api.end_watches()


def expire_by_event(api: Scripted) -> None:
    api.compact()
    api.inject("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
