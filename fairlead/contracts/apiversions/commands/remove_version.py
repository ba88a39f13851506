"""`fairlead api remove-version`: a version goes from a CRD, and with it what objects carry for it (section 3.6)."""

from __future__ import annotations

import argparse
import asyncio
import sys

import msgspec

from fairlead.contracts.apiversions.commands import codes, options, version_step
from fairlead.contracts.apiversions.commands.outdated_rules import outdated, put_right
from fairlead.contracts.apiversions.decide.crd_versions import NoSuchVersion, resource_of, storage_version, version_of
from fairlead.contracts.apiversions.decide.lifecycle import LifecycleRefused, LifecycleStep, removed
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import carried
from fairlead.contracts.apiversions.live_objects import objects
from fairlead.contracts.apiversions.uses import uses_of
from fairlead.core.amounts import counted
from fairlead.engine.command import Invocation, Subcommand
from kubeloop.client import Client
from kubeloop.errors import Conflict, NotFound
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, dry, get, patch

MOST_TRIES = 10
AT_ONCE = options.CONCURRENCY


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    version_step.add_arguments(parser)
    options.add_dependents(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments

    async def decide(live: Tree) -> LifecycleStep | LifecycleRefused:
        try:
            version_of(live, given.version)
        except NoSuchVersion:
            if not await outdated(called.client, given.crd, given.version):
                raise
            return LifecycleStep(said=f"{given.crd}: {given.version} is removed already")
        uses = await uses_of(called.client, live, named=given.dependents)
        step = removed(live, given.version, uses)
        # Nothing brings back what is taken off, so the server is asked first whether the version may go.
        if (
            isinstance(step, LifecycleStep)
            and given.version in uses.carried
            and await version_step.would_be_taken(called.client, live, step)
        ):
            count = await _forget(called.client, live, given.version, dry_run=given.dry_run)
            said = "would be" if given.dry_run else "is"
            print(f"what {counted(count, 'object')} carried for {given.version} {said} taken off", file=sys.stderr)
        return step

    code = await version_step.run(called, decide)
    if code == codes.DONE:
        for each in await put_right(called.client, given.crd, given.version, dry_run=given.dry_run):
            print(each, file=sys.stderr)
    return code


async def _forget(client: Client, live: Tree, version: str, *, dry_run: bool) -> int:
    """How many objects no longer carry leaves of the version; does no harm when it is done twice."""
    resource = resource_of(live, storage_version(live))
    gate = asyncio.Semaphore(AT_ONCE)
    count = 0
    async with asyncio.TaskGroup() as tasks:
        async for tree in objects(client, resource, metadata_only=True):
            if version in carried(tree["metadata"]):
                count += 1
                await gate.acquire()
                task = tasks.create_task(_forget_one(client, resource, tree["metadata"], version, dry_run=dry_run))
                task.add_done_callback(lambda _: gate.release())
    return count


async def _forget_one(client: Client, resource: Resource, metadata: Tree, version: str, *, dry_run: bool) -> None:
    """Raises KubeError; an object that is gone carries nothing."""
    ref = Ref(resource, metadata.get("namespace") or "", metadata["name"], metadata["uid"])
    for _ in range(MOST_TRIES):
        gone = dict.fromkeys(carried(metadata).get(version, ()))
        if not gone:
            return
        body = msgspec.json.encode({"metadata": {"annotations": gone}})
        request = patch(ref, MERGE_PATCH, body, resource_version=metadata["resourceVersion"])
        try:
            await client.call(dry(request) if dry_run else request)
        except NotFound:
            return
        except Conflict:
            metadata = msgspec.json.decode((await client.call(get(ref))).body)["metadata"]
            if metadata["uid"] != ref.uid:
                return
        else:
            return
    raise Conflict(409, "Conflict", f"{ref} is written all the time: run it again", doing="")


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
