"""What an operator runs for environments."""

from __future__ import annotations

from fairlead.contracts.environments.controllers import environments
from fairlead.contracts.environments.conversion import Converting
from fairlead.contracts.environments.explain import PART
from fairlead.contracts.environments.metrics import EnvironmentMetrics
from fairlead.contracts.environments.settings import EnvironmentsOptions
from fairlead.contracts.environments.shared_listener import SharedConverting, SharedReviews, shared_with
from fairlead.engine.part import Part, PartContext
from fairlead.engine.shared_conversion import SharedConversion


def part(context: PartContext, given: EnvironmentsOptions) -> Part:
    log, metrics = context.log, context.metrics.of(EnvironmentMetrics)
    if given.conversion is None:
        return Part(
            name=PART,
            controllers=environments(context.caches, given.settings, metrics, log, lambda: False),
            leads=metrics.leads,
        )
    if (shared := shared_with(given.conversion, context)) is not None:
        return _beside_others(given, shared, context, metrics)
    converting = Converting(given.conversion, context, metrics)
    stored, other = converting.stored, context.conversion
    return Part(
        name=PART,
        controllers=(
            *environments(context.caches, given.settings, metrics, log, lambda: stored.is_mixed),
            converting.registration.controller,
        ),
        servers=(converting.server(),),
        shared_routes=() if other is None else (SharedReviews(other, context, metrics).routes(),),
        before_leading=(converting.registration.register,),
        leader_tasks=(stored.migrations.run,),
        jobs=stored.migrations.jobs,
        leads=metrics.leads,
    )


def _beside_others(
    given: EnvironmentsOptions, shared: SharedConversion, context: PartContext, metrics: EnvironmentMetrics
) -> Part:
    """With the listener that converts for all parts; the kinds are there before the rounds of this part alone."""
    if given.conversion is None:
        raise TypeError("environments that nobody converts share no listener")
    converting = SharedConverting(given.conversion, shared, context, metrics)
    stored = converting.stored
    return Part(
        name=PART,
        controllers=(
            *environments(context.caches, given.settings, metrics, context.log, lambda: stored.is_mixed),
            converting.registration.controller,
        ),
        shared_routes=(converting.routes(),),
        before_rounds=(converting.registration.register,),
        leader_tasks=(stored.migrations.run,),
        jobs=stored.migrations.jobs,
        leads=metrics.leads,
    )
