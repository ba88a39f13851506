"""Commands of `fairlead api` as processes: each has a wire of its own and can be killed at any of its effects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairlead.cli.command_group import group_of, parser_of
from fairlead.engine.command import Invocation, Precondition, Usage
from kubeloop.client import Client
from kubeloop.errors import KubeError
from tests.chaos.apiversions.outputs import listened
from tests.chaos.loop import running
from tests.chaos.wire import Wire

KILLED = -1
API_ERROR, USAGE = 1, 2


class CommandRun:
    """One run; `code` is None until it has ended."""

    def __init__(self, name: str, words: tuple[str, ...], wire: Wire) -> None:
        self.name, self.words, self.wire = name, words, wire
        self.code: int | None = None
        self.text = ""
        self.mistake: BaseException | None = None
        self.task = running().start(name, self._run())

    @property
    def is_over(self) -> bool:
        return self.code is not None

    def kill(self) -> None:
        """It sends nothing more; what it leaves behind stays."""
        if not self.is_over:
            self.wire.is_dead = True
            self.code = KILLED
            running().go_on(self.name)
            self.task.cancel()

    def killed_at(self, nth: int, *, before: bool, matters: Callable[[str], bool] = lambda _: True) -> None:
        """At its nth effect of those that matter, before it is sent or after it is carried out."""
        left = nth

        async def strike(what: str, _number: int) -> None:
            nonlocal left
            counts = matters(what)
            left -= counts
            if counts and left == 0:
                self.wire.is_dead = True
                asyncio.get_running_loop().call_soon(self.kill)
                await asyncio.Event().wait()

        if before:
            self.wire.at_effect = strike
        else:
            self.wire.after_effect = strike

    async def _run(self) -> None:
        said = listened()
        try:
            code = await self._called()
        except KubeError as error:
            code, self.text = API_ERROR, f"{error}"
        except asyncio.CancelledError:
            code = KILLED
        except Exception as error:  # noqa: BLE001  (the referee is told)
            code, self.mistake = API_ERROR, error
        if self.code is None:
            self.code = code
        self.text += said.getvalue()

    async def _called(self) -> int:
        two = " ".join(self.words[:2])
        name, rest = (two, self.words[2:]) if two in group_of("api").commands else (self.words[0], self.words[1:])
        parser, command = parser_of("api", name)
        arguments = parser.parse_args(list(rest))
        called = Invocation(
            arguments=arguments,
            connected=Client(self.wire),
            namespaces=tuple(dict.fromkeys(arguments.namespace)),
            user=self.name,
            server="https://cluster.test",
        )
        try:
            return await command.run(called)
        except Precondition as error:
            self.text = str(error)
            return group_of("api").precondition
        except Usage as error:
            self.text = str(error)
            return USAGE
