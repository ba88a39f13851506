"""The operator of plans on a cluster, with the kind that it serves."""

from __future__ import annotations

from functools import partial

from fairlead.contracts.plans.contract import CONTRACT
from fairlead.contracts.plans.install.definitions import definitions as all_definitions
from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.engine.assembly import assemble
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop.calls import Caller
from kubeloop.request import Transport
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.receivers import caller_of
from tests.engine.world import Log


def definitions() -> tuple[Tree, ...]:
    """That of RolloutTraits alone: to learn a kind takes the real API server a while."""
    name = f"{ROLLOUT_TRAITS.plural}.{ROLLOUT_TRAITS.group}"
    return tuple(each for each in all_definitions() if each["metadata"]["name"] == name)


with_traits = partial(everywhere, definitions=definitions)
"""For scenarios that begin with `plan_play.begin`."""


SETTINGS = PlanSettings(registers_kinds=False)
"""To learn all kinds takes the real API server a while, and scenarios bring those that they need."""


class Operator:
    """Of plans in the namespace of the site; it calls others as `caller_of` the site does, or by `caller`."""

    def __init__(self, site: Site, settings: PlanSettings | None = None, caller: Caller | None = None) -> None:
        self.metrics = Metrics()
        self.log = Log()
        self.manager: Manager | None = None
        self._site, self._settings, self._caller = site, settings or SETTINGS, caller

    async def __call__(self, transport: Transport) -> None:
        options = OperatorOptions(
            process="vela-core",
            identity="plans-1",
            namespaces=(self._site.namespace,),
            parts=(PartOptions(CONTRACT, self._settings),),
            lease=CONTRACT.lease,
        )
        caller = self._caller or caller_of(self._site)
        try:
            self.manager = await assemble(
                options, self._site.namespace, transport, self.metrics, self.log.logger(), caller
            )
            await self.manager.run()
        finally:
            for each in (caller, transport):
                if (close := getattr(each, "close", None)) is not None:
                    await close()
