"""What is done for a Console, whoever made it."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.environments.decide.deployments import Companion, decide_companion
from fairlead.contracts.environments.decide.objects.console import console_objects, console_trouble
from fairlead.contracts.environments.decide.objects.owner import CONSOLE
from fairlead.contracts.environments.decide.seen import CompanionSnapshot
from fairlead.contracts.environments.decide.serving import serving_of
from fairlead.contracts.environments.kinds import CONSOLES, Console
from fairlead.core.ask import Need
from fairlead.core.decision import Decision


def decide_console(seen: CompanionSnapshot[Console], now: datetime) -> Decision | Need:
    """What is to be done now for the Console that is seen."""
    trouble = console_trouble(seen.own, seen.settings)
    can_be_built = seen.own.status is not None and not trouble
    objects = console_objects(seen.own, seen.settings, serving_of(seen)) if can_be_built else ()
    companion = Companion(resource=CONSOLES, app=CONSOLE, seen=seen, trouble=trouble, objects=objects)
    return decide_companion(companion, now)
