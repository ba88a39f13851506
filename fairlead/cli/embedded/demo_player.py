"""Plays what `fairlead up --demo` shows: a rollout that is followed, or commands that are printed and run."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from functools import partial
from pathlib import Path

from fairlead.cli.embedded.apply_files import ApplyRefused
from fairlead.engine.demo import AnyDemo, CommandDemo, Demo, DemoFailed, WorstSeen
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import ApiError


async def play(demo: AnyDemo, client: Client, folder: Path, *, color: bool) -> None:
    """Returns when it is over; raises ApplyRefused where it cannot be played."""
    if isinstance(demo, CommandDemo):
        await _play_commands(demo, client, folder / "demo")
    else:
        await _follow_rollout(demo, client, color=color)


async def _follow_rollout(demo: Demo, client: Client, *, color: bool) -> None:
    from fairlead.cli.commands.watch import WatchScope, follow
    from fairlead.cli.connect import Cluster
    from fairlead.cli.views.screens import screen
    from fairlead.cli.views.worst_seen import WorstSeenScreen

    cluster = Cluster(client, (demo.namespace,))
    print(f"{demo.story}\n", flush=True)
    with _playable():
        await demo.create(client)
    with screen(color=color) as shown:
        await follow(cluster, WatchScope(demo.rollout), shown)
        worst = WorstSeen()
        watched = WorstSeenScreen(shown, worst)
        begun = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(follow(cluster, WatchScope(demo.rollout, forever=True), watched))
            await demo.change(client, lambda text: watched.say(text, clock.now()))
            looking.cancel()
        await follow(cluster, WatchScope(demo.rollout), watched)
        took = asyncio.get_running_loop().time() - begun
    print(f"\nDone in {took:.0f} s: {demo.summary(worst)}", flush=True)


@contextmanager
def _playable() -> Iterator[None]:
    """What is there already may be in the way of a demo."""
    try:
        yield
    except ApiError as error:
        remedy = "leave out --demo, or the --load or -f that made it so"
        raise ApplyRefused(f"the demo cannot be played on this cluster ({error}): {remedy}") from error


def _comment(text: str) -> None:
    """Between commands, as in a script."""
    lines = "\n".join(f"# {line}" for line in text.splitlines())
    print(f"\n{lines}", flush=True)


async def _play_commands(demo: CommandDemo, client: Client, folder: Path) -> None:
    from fairlead.cli.command_group import run_within

    async def run(line: str) -> int:
        group, *words = shlex.split(line)
        print(f"\n$ fairlead {line}", flush=True)
        return await run_within(group, words, client)

    print(demo.story, flush=True)
    await asyncio.to_thread(partial(folder.mkdir, parents=True, exist_ok=True))
    with _playable():
        await demo.create(client, folder)
    begun = asyncio.get_running_loop().time()
    try:
        with chdir(folder):  # commands name files as people do who are there
            await demo.play(client, run, _comment)
    except DemoFailed as error:
        raise ApplyRefused(f"the demo stops: {error}") from error
    took = asyncio.get_running_loop().time() - begun
    print(f"\nDone in {took:.0f} s: {demo.summary}", flush=True)
