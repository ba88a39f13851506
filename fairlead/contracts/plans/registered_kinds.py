"""The kinds of plans on the cluster (section 2.16): registered beside whoever else brings them, or only looked at.

Every replica watches the definitions, so that each can say which kinds are left to a release that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator

from structlog.types import FilteringBoundLogger

from fairlead.contracts.plans.install.definitions import definitions
from fairlead.contracts.plans.kinds import OUR_MANAGER, ROLLOUT_TRAITS
from fairlead.engine.certificates.authority import Publication
from fairlead.engine.controller import Controller
from fairlead.engine.decide.definition_rounds import DefinitionSnapshot
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.joined_definitions import lacking, unknown_versions
from fairlead.engine.decide.registration import DEFINITIONS, Tree, name_of
from fairlead.engine.kinds.registration import Registration, RegistrationFailed
from fairlead.engine.part import PartContext
from kubeloop.client import Client
from kubeloop.errors import Forbidden, NotFound
from kubeloop.objects.meta import Ref
from kubeloop.request import get

CONTROLLER = "plan-definitions"
NEVER = 3600.0
"""Seconds between two looks at files that there are none of: nothing here is converted."""
_INDISPENSABLE = f"{ROLLOUT_TRAITS.plural}.{ROLLOUT_TRAITS.group}"


class RegisteredKinds:
    """Registers them before this replica leads, and puts back what somebody takes away of them later."""

    def __init__(self, context: PartContext) -> None:
        self._log = context.log
        self._definitions = {name_of(each): each for each in definitions()}
        self.unknown: dict[str, tuple[str, ...]] = {}
        """By the name of a definition that is left as it is: the versions that this release does not know."""
        self._registration = Registration(
            context.client,
            context.caches,
            tuple(self._definitions.values()),
            None,
            Publication(NEVER),
            context.log,
            manager=OUR_MANAGER,
            heed=self._heed,
            joins=True,
            name=CONTROLLER,
        )

    @property
    def controller(self) -> Controller[DefinitionSnapshot]:
        return self._registration.controller

    def remarks(self) -> Iterator[str]:
        """Kinds that are left to whoever serves their other versions."""
        for name, versions in sorted(self.unknown.items()):
            yield f"the definition {name} is left as it is: this release does not know {', '.join(versions)}"

    async def register(self) -> None:
        await self._registration.register()

    def _heed(self, name: str, live: Tree) -> None:
        found = unknown_versions(self._definitions[name], live)
        if found == self.unknown.get(name, ()):
            return
        if found:
            self.unknown[name] = found
            self._log.warning("definition left as it is", name=name, unknown_versions=", ".join(found))
        else:
            del self.unknown[name]
            self._log.info("definition known again", name=name)


async def check(client: Client, log: FilteringBoundLogger) -> None:
    """Where registering is left to others: raises RegistrationFailed for a definition that would not keep a status."""
    for definition in definitions():
        name = name_of(definition)
        live = await _live(client, name, log)
        if live is None or unknown_versions(definition, live):
            continue
        if missing := lacking(definition, live, "status"):
            raise RegistrationFailed(
                f"the definition {name} lacks {missing[0]}, so a rollout would forget it: install the definitions of"
                " `fairlead crds --part plans`, or let the operator register its kinds"
            )


async def _live(client: Client, name: str, log: FilteringBoundLogger) -> Tree | None:
    """None for one that is not there and can be done without, and for all where they may not be read."""
    asked = get(Ref(DEFINITIONS, "", name))
    try:
        return definition_in((await client.call(asked)).body, asked.doing)
    except Forbidden:
        log.warning("definition not read", name=name, help="grant get on customresourcedefinitions to have it checked")
        return None
    except NotFound:
        if name != _INDISPENSABLE:
            return None
        raise RegistrationFailed(
            f"the definition {name} is not there: install those of `fairlead crds --part plans`, or let the operator"
            " register its kinds"
        ) from None
