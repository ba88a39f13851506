"""What `promote` and `abort` have in common: one environment is read, judged and patched as it was read."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.flags.common import add_cluster

if TYPE_CHECKING:
    from fairlead.cli.connect import Cluster
    from fairlead.contracts.environments.kinds import Json, Materialize
    from kubeloop.client import Client

ATTEMPTS = 5
"""How often it is begun again because somebody changed the object meanwhile."""


class Stop(Exception):
    """Nothing is changed: what is said, and the exit code."""

    def __init__(self, text: str, code: int = exits.ERROR) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


Judge = Callable[["Client", "Materialize"], Awaitable[tuple["Json", str]]]
"""The patch, and what to say once it is carried out; raises Stop."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the environment")
    add_cluster(parser, all_namespaces=False)
    parser.add_argument("--dry-run", action="store_true", help="print the patch of the object instead of sending it")


def run(arguments: argparse.Namespace, judge: Judge) -> int:
    from fairlead.cli.connect import fail, talk

    async def work(cluster: Cluster) -> int:
        try:
            print(await act(cluster.client, cluster.namespaces[0], arguments.name, judge, dry=arguments.dry_run))
        except Stop as stop:
            if stop.code == exits.OK:
                print(stop.text)
                return exits.OK
            return fail(stop.text, stop.code)
        return exits.OK

    return talk(arguments, work)


async def act(client: Client, namespace: str, name: str, judge: Judge, *, dry: bool = False) -> str:
    """What to say of it; raises Stop where nothing is to be done."""
    import msgspec

    from fairlead.contracts.environments.kinds import MATERIALIZES, Materialize
    from kubeloop import request
    from kubeloop.errors import Conflict, NotFound
    from kubeloop.objects.meta import Ref

    ref = Ref(MATERIALIZES, namespace, name)
    for _ in range(ATTEMPTS):
        try:
            environment = await client.read(ref, Materialize)
        except NotFound as error:
            hint = "`fairlead get` lists what there is"
            raise Stop(f"no environment named {name} in namespace {namespace}: {hint}", exits.NOT_FOUND) from error
        patch, said = await judge(client, environment)
        body = msgspec.json.encode(patch)
        if dry:
            return msgspec.json.format(body, indent=2).decode()
        try:
            await client.call(request.patch(ref, request.MERGE_PATCH, body))
        except Conflict:
            continue
        return said
    raise Stop(f"{name} was changed by somebody else again and again: try again in a moment")


def follow(environment: Materialize) -> str:
    """How to see what comes of it."""
    metadata = environment.metadata
    return f"follow it with `fairlead watch {metadata.name} -n {metadata.namespace}`"
