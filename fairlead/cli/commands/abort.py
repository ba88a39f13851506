"""`fairlead abort NAME`: a rollout that was not promoted is taken back, and the serving generation stays."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli import environment_patch

if TYPE_CHECKING:
    from fairlead.contracts.environments.decide.undo import Change, Undo, Unknown
    from fairlead.contracts.environments.kinds import Json, Materialize
    from kubeloop.client import Client
    from kubeloop.objects.meta import Ref

EPILOG = (
    "Puts back the fields of the spec that the serving generation was made from. They are stored nowhere; they are "
    "worked out from the objects of that generation, and taken only if their hash is status.lastCompletedRolloutHash. "
    "Where they cannot be worked out nothing is changed and the code is 1."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    environment_patch.add_arguments(parser)
    parser.epilog = EPILOG


def run(arguments: argparse.Namespace) -> int:
    return environment_patch.run(arguments, aborted)


async def aborted(client: Client, environment: Materialize) -> tuple[Json, str]:
    """The patch that takes the rollout back, and what comes of it; raises Stop."""
    from fairlead.contracts.environments.decide.undo import Undo, Unknown, undo

    name = environment.metadata.name
    match undo(environment, *await _serving(client, environment)):
        case Undo() as found:
            return found.patch, _said(environment, found)
        case Unknown() as unknown:
            raise environment_patch.Stop(f"{name}: {_unknown(unknown)}")
        case refused:
            raise environment_patch.Stop(f"{name}: {refused.sentence}")


async def _serving(client: Client, environment: Materialize) -> tuple[bytes | None, bytes | None]:
    """StatefulSet and listeners of the serving generation, where they are."""
    from fairlead.contracts.environments.decide.objects.names import environmentd_name, listeners_name
    from kubeloop.objects.apps import STATEFULSETS
    from kubeloop.objects.core import CONFIGMAPS
    from kubeloop.objects.meta import Ref

    status = environment.status
    if status is None:
        return None, None
    place, active = environment.metadata.namespace, status.active_generation
    statefulset = Ref(STATEFULSETS, place, environmentd_name(status.resource_id, active))
    listeners = Ref(CONFIGMAPS, place, listeners_name(status.resource_id, active))
    return await _body(client, statefulset), await _body(client, listeners)


async def _body(client: Client, ref: Ref) -> bytes | None:
    from kubeloop import request
    from kubeloop.errors import NotFound

    try:
        return (await client.call(request.get(ref))).body
    except NotFound:
        return None


def _said(environment: Materialize, found: Undo) -> str:
    back = "\n".join(f"  {_change(change)}" for change in found.changes)
    return (
        f"{environment.metadata.name} goes back to generation {found.active}:\n{back}\n"
        "Take the change out of your manifest as well, or it comes back with the next apply;"
        f" {environment_patch.follow(environment)}"
    )


def _change(change: Change) -> str:
    if all(isinstance(value, str | int | None) for value in (change.before, change.after)):
        return f"{change.field}: {_shown(change.before)} -> {_shown(change.after)}"
    return f"{change.field}: {'taken away' if change.after is None else 'as it was'}"


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)


def _unknown(unknown: Unknown) -> str:
    return (
        f"what generation {unknown.active} was made from cannot be worked out, so nothing is changed; fields like"
        f" {', '.join(unknown.untraced)} leave no trace: apply the earlier manifest again"
        f" (`fairlead hash -f FILE` prints {unknown.hash} for the right one)"
    )
