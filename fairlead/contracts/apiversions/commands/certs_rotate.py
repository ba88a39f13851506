"""`fairlead api certs rotate`: asks the operator for another authority, and waits until it is served (section 3.8).

The operator does the rest, whether or not anybody waits: only the Secret is written here, and only its phase.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.certificate_look import CertificateLook, stored_certificate
from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.certs_status import add_secret, secret_of
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.engine.command import Invocation, Precondition, Subcommand
from fairlead.engine.decide.bundles import Certificate
from fairlead.engine.decide.rotation_snapshot import PHASE, RotationPhase
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Conflict
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, dry, patch

BETWEEN_LOOKS = 1.0
MOST_CONFLICTS = 5
PATIENCE_SECONDS = 600.0
UNHEARD_SECONDS = 30.0
"""After which it is said that no leader seems to run."""
TOLD = {
    RotationPhase.REQUESTED: "asked for another authority",
    RotationPhase.PREPARED: "authority and certificate are made",
    RotationPhase.TRUSTED: "both authorities are published; nothing is served under the new one yet",
    RotationPhase.SWITCHED: "replicas change over to the new certificate",
    RotationPhase.RETIRING: (
        "every replica serves the new certificate; the authority before stays trusted for --ca-overlap"
    ),
    RotationPhase.STEADY: "the new authority alone is trusted",
}


class Rotated(Struct, frozen=True, rename="camel"):
    secret: str
    phase: str
    is_served: bool
    is_done: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_secret(parser)
    options.add_dry_run(parser)
    options.add_output(parser)
    about = (
        "how long to wait: until the new certificate is served (default), until the authority before is gone, or not"
    )
    parser.add_argument("--wait", choices=("served", "done", "no"), default="served", help=about)
    limit = options.seconds("--timeout")
    about = "give up waiting after so long; the operator goes on; default 10m"
    parser.add_argument("--timeout", metavar="DURATION", type=limit, default=PATIENCE_SECONDS, help=about)


async def _run(called: Invocation) -> int:
    given, secret, client = called.arguments, secret_of(called), called.client
    before = await _asked(client, secret, dry_run=given.dry_run)
    if given.dry_run:
        text = (
            f"would ask the operator for another authority in Secret {secret.namespace}/{secret.name}; nothing changed"
        )
        show(_result(secret, before, None), given.output, text)
        return codes.DONE
    if given.wait == "no":
        show(_result(secret, before, None), given.output, "the operator has been asked for another authority")
        return codes.DONE
    try:
        async with asyncio.timeout(given.timeout):
            after = await _awaited(client, secret, before, until_done=given.wait == "done")
    except TimeoutError:
        return complain("not over yet; the operator goes on: see `fairlead api certs status`", codes.RESUMABLE)
    except asyncio.CancelledError:
        return complain("no longer waiting; the operator goes on: see `fairlead api certs status`", codes.RESUMABLE)
    show(_result(secret, after, before.stored.now.authority), given.output, TOLD[after.stored.phase])
    return codes.DONE


async def _asked(client: Client, secret: Ref, *, dry_run: bool) -> CertificateLook:
    """How it stood before; a rotation that is under way is not begun again. Raises Precondition."""
    for _ in range(MOST_CONFLICTS):
        seen = await stored_certificate(client, secret)
        if not seen.stored.now.can_sign:
            raise Precondition(
                f"Secret {secret.namespace}/{secret.name} has no key of its authority: others make this certificate,"
                " so replace it where it comes from"
            )
        if seen.stored.phase is not RotationPhase.STEADY:
            _tell(f"a rotation is under way already ({seen.stored.phase.value})")
            return seen
        body = msgspec.json.encode({"data": {PHASE: RotationPhase.REQUESTED.value.encode()}})
        message = patch(secret, MERGE_PATCH, body, resource_version=seen.stored.version)
        try:
            await client.call(dry(message) if dry_run else message)
        except Conflict:
            continue
        return seen
    raise Precondition(
        f"Secret {secret.namespace}/{secret.name} is written by others all the time: see who does, and run this again"
    )


async def _awaited(client: Client, secret: Ref, before: CertificateLook, *, until_done: bool) -> CertificateLook:
    """How it stands when the new certificate is served, or when all is done; phases are told as they come."""
    told: RotationPhase | None = None
    since, is_warned = clock.monotonic(), False
    while True:
        seen = await stored_certificate(client, secret)
        phase, is_new = seen.stored.phase, seen.stored.now.authority != before.stored.now.authority
        if phase is RotationPhase.STEADY and (is_new or before.stored.phase is not RotationPhase.STEADY):
            return seen
        if phase is RotationPhase.RETIRING and not until_done:
            return seen
        if phase is not told:
            told, since = phase, clock.monotonic()
            _tell(TOLD[phase])
        elif phase is RotationPhase.REQUESTED and not is_warned and clock.monotonic() - since > UNHEARD_SECONDS:
            is_warned = True
            _tell("no leader has begun yet: see that the operator runs, in this namespace and with part apiversions")
        await asyncio.sleep(BETWEEN_LOOKS)


def _result(secret: Ref, seen: CertificateLook, before: Certificate | None) -> Rotated:
    is_new = before is not None and seen.stored.now.authority != before
    phase = seen.stored.phase
    return Rotated(
        f"{secret.namespace}/{secret.name}",
        phase.value,
        is_served=is_new and phase in (RotationPhase.RETIRING, RotationPhase.STEADY),
        is_done=is_new and phase is RotationPhase.STEADY,
    )


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
