"""The stand-in environmentds of a site, told by the scenario how each generation behaves.

A generation of which nothing was told is ready at once and leads as soon as it is promoted. What is told holds for
pods that run and for pods to come, so a scenario may speak before the generation exists.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from msgspec import structs

from fairlead.contracts.environments.stand_in.environmentd import PROMOTE, AnsweredCall, Environmentd, Environments
from fairlead.contracts.environments.stand_in.rules import PREFIX
from kubeloop.calls import Call, Reply
from kubesim.kubelet.programs import Exit, Hosted, Programs
from kubesim.kubelet.serving import serve
from tests.e2e.clusters import SimGround, Site

TEMPLATE = "{scheme}://{service}.{namespace}.svc.cluster.local:{port}"


class Stubs:
    """Runs while the context is open; `template` is where an operator finds them."""

    def __init__(self, site: Site) -> None:
        self.world = Environments(catch_up=0.0, promote_takes=0.0)
        self.template = TEMPLATE
        self._site = site
        self._told: dict[int, dict[str, str]] = {}
        self._running: list[_Told] = []
        self._programs = Programs(self._make)
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        ground = self._site.ground
        if isinstance(ground, SimGround):
            ground.cluster.network.ask(self._programs.find)
        else:
            address = await self._open.enter_async_context(serve(self._programs))
            self.template = f"{address}/{{namespace}}/{{service}}:{{port}}"
        self._site.start_kubelet(ready_after=0.05, gone_after=0.05, programs=self._programs)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    def tell(self, generation: int, **behaviour: str) -> None:
        """From now on; `catch_up="never"` and others as annotations of the stand-in, without what those begin with."""
        words = {PREFIX + word.replace("_", "-"): value for word, value in behaviour.items()}
        self._told.setdefault(generation, {}).update(words)
        for each in self._running:
            each.changed(each.pod)

    def leads(self, resource_id: str, generation: int) -> None:
        """As after a promotion by somebody else."""
        self.world.leads((self._site.namespace, resource_id), generation)

    def calls(self, path: str, generation: int | None = None) -> list[AnsweredCall]:
        return self.world.calls(path, generation)

    @property
    def promoted(self) -> list[int]:
        """Generations in the order in which they were told to take over, each time."""
        return [each.generation for each in self.calls(PROMOTE)]

    def told(self, pod: Hosted, generation: int) -> Hosted:
        return structs.replace(pod, annotations={**pod.annotations, **self._told.get(generation, {})})

    def _make(self, pod: Hosted, exit_: Exit) -> _Told | None:
        made = self.world.make(pod, exit_)
        if made is None:
            return None
        told = _Told(self, made, pod)
        self._running.append(told)
        return told

    def stopped(self, told: _Told) -> None:
        self._running = [each for each in self._running if each is not told]


class _Told:
    """A program whose pod seems to carry what was told to its generation."""

    def __init__(self, stubs: Stubs, program: Environmentd, pod: Hosted) -> None:
        self.pod = pod
        self._stubs = stubs
        self._program = program
        self.changed(pod)

    async def answer(self, call: Call) -> Reply:
        try:
            return await self._program.answer(call)
        finally:
            self._stubs._site.history.wake()

    def changed(self, pod: Hosted) -> None:
        self.pod = pod
        self._program.changed(self._stubs.told(pod, self._program.generation))

    def stop(self) -> None:
        self._program.stop()
        self._stubs.stopped(self)
