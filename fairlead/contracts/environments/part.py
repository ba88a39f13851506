"""What an operator runs for environments."""

from __future__ import annotations

from fairlead.contracts.environments.controllers import environments
from fairlead.contracts.environments.conversion import Converting
from fairlead.contracts.environments.explain import PART
from fairlead.contracts.environments.metrics import EnvironmentMetrics
from fairlead.contracts.environments.settings import EnvironmentsOptions
from fairlead.engine.part import Part, PartContext


def part(context: PartContext, given: EnvironmentsOptions) -> Part:
    client, log, metrics = context.client, context.log, context.metrics.of(EnvironmentMetrics)
    if given.conversion is None:
        return Part(
            name=PART,
            controllers=environments(context.caches, given.settings, metrics, log, lambda: False),
            leads=metrics.leads,
        )
    converting = Converting(given.conversion, client, context.caches, metrics, log)
    return Part(
        name=PART,
        controllers=(
            *environments(context.caches, given.settings, metrics, log, lambda: converting.is_mixed),
            *converting.controllers,
        ),
        servers=(converting.server(),),
        before_leading=(converting.registration.register,),
        leads=metrics.leads,
    )
