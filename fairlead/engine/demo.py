"""A rollout to look at: what `fairlead up --demo NAME` puts into its cluster, what it then changes, what came of it.

Also how a contract is served in that cluster, where one process is cluster, operator and pods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.core.explain import Explain
from kubeloop import request
from kubeloop.calls import Handler
from kubeloop.client import Client
from kubeloop.objects.core import NAMESPACES

NAMESPACE = "demo"

Step = Callable[[Client], Awaitable[None]]
Tell = Callable[[str], None]


class WorstSeen:
    """Sees a whole rollout, and keeps the worst of it for a summary."""

    def __init__(self) -> None:
        self.last: Explain | None = None
        self.lanes_out = 0
        """Most lanes that had a cell which was not ready, at one moment."""
        self.cells_out = 0
        self.fewest_ready: int | None = None
        """Fewest cells that were ready at one moment; None before anything was seen."""
        self.most_lanes = 0

    def see(self, seen: Sequence[Explain]) -> None:
        for one in seen:
            lanes = one.stands.lanes
            out = [sum(cell.state != "ready" for cell in lane.cells) for lane in lanes]
            ready = sum(len(lane.cells) for lane in lanes) - sum(out)
            self.cells_out = max(self.cells_out, sum(out))
            self.lanes_out = max(self.lanes_out, sum(map(bool, out)))
            self.fewest_ready = ready if self.fewest_ready is None else min(self.fewest_ready, ready)
            self.most_lanes = max(self.most_lanes, len(lanes))
            self.last = one


class Demo(Struct, frozen=True):
    namespace: str
    rollout: str
    story: str
    create: Step
    change: Callable[[Client, Tell], Awaitable[None]]
    """What is looked at; it may tell what it does."""
    summary: Callable[[WorstSeen], str]
    tries: tuple[str, ...] = ()
    """Commands to try afterwards, besides those that look at the rollout."""


Run = Callable[[str], Awaitable[int]]
"""Prints a command as people type it, runs it, and gives its exit code."""


class CommandDemo(Struct, frozen=True):
    """Commands to look at, each of which is printed before it is run; there is no rollout to follow."""

    namespace: str
    story: str
    create: Callable[[Client, Path], Awaitable[None]]
    """Puts objects into the cluster, and the files that the commands name into a folder."""
    play: Callable[[Client, Run, Tell], Awaitable[None]]
    """Raises DemoFailed where a command ends otherwise than it should."""
    summary: str
    tries: tuple[str, ...] = ()

    rollout: str = ""
    """None: there is nothing to follow."""


AnyDemo = Demo | CommandDemo


class DemoFailed(Exception):
    """The demo does not show what it says; the text says what happened instead."""


class Neighbour(Struct, frozen=True, kw_only=True):
    """A program of somebody else that the cluster of `fairlead up` has as well."""

    run: Callable[[], Coroutine[Any, Any, None]]
    """Until cancelled."""
    answers: Mapping[str, Handler] = {}
    """By host: what is called at it."""


class Outlet(Struct, frozen=True):
    """What a server of webhooks needs for a cluster in another process."""

    folder: Path
    """With `ca.crt`, `tls.crt` and `tls.key`, which hold for all names that the cluster calls."""
    port: int
    """Of the loopback, on which nobody else listens."""

    def file(self, name: str) -> str:
        return str(self.folder / name)


class Hosted(Struct, frozen=True, kw_only=True):
    """How the operator of `fairlead up`, which belongs to a namespace and serves all of them, serves a contract."""

    settings: Any
    """As its part takes them."""
    over_https: Callable[[Outlet], Any] | None = None
    """The settings where the cluster calls webhooks over HTTPS, for a part that has certificates or a server of its
    own, which is called at port 443 of its Service; None: they are the same."""
    webhooks: Callable[[str], Iterable[dict[str, Any]]] = lambda _: ()
    """The configurations of its webhooks, for an operator of this namespace, which reviews objects of that one only."""
    host: Callable[[str], str] = lambda _: ""
    """By which the cluster calls them."""
    stand_in: Callable[[], Any] | None = None
    """Makes what makes the programs in its pods, where those must answer."""
    neighbours: Callable[[Client, bool], Awaitable[Sequence[Neighbour]]] | None = None
    """What its rollouts need around them, with its kinds, which are defined before the operator starts. Second is
    whether the cluster is a copy of another one, in which nobody may touch what is there."""


async def create_namespace(client: Client) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await client.call(request.create(NAMESPACES, "", msgspec.json.encode(namespace)))
