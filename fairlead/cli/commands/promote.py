"""`fairlead promote NAME`: the generation that is on its way takes over, without waiting any longer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli import environment_patch, exits

if TYPE_CHECKING:
    from fairlead.contracts.environments.kinds import Json, Materialize
    from kubeloop.client import Client

EPILOG = (
    "Sets spec.forcePromote to the hash of the rollout, status.requestedRolloutHash; it holds for this rollout alone. "
    "A generation that is ready takes over at once. One that is not skips the rest of its catching up and takes over "
    "as soon as its pod runs; users then wait for the rest."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    environment_patch.add_arguments(parser)
    parser.epilog = EPILOG


def run(arguments: argparse.Namespace) -> int:
    return environment_patch.run(arguments, promoted)


async def promoted(_: Client, environment: Materialize) -> tuple[Json, str]:
    """The patch that approves, and what comes of it; raises Stop."""
    from fairlead.contracts.environments.decide.forcing import Force, Nothing, force

    name = environment.metadata.name
    match force(environment):
        case Force() as forced:
            how = "takes over now"
            if not forced.is_ready:
                how = "skips the rest of its catching up and takes over as soon as its pod runs"
            what = f"generation {forced.generation} of {name} ({forced.image}) {how}"
            return forced.patch, f"{what}; {environment_patch.follow(environment)}"
        case Nothing(sentence):
            raise environment_patch.Stop(f"{name}: {sentence}", exits.OK)
        case refused:
            raise environment_patch.Stop(f"{name}: {refused.sentence}")
