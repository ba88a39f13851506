"""What is done for a Console, whoever made it."""

from __future__ import annotations

from datetime import datetime

from fairlead.api.environments import CONSOLES, Console
from fairlead.decide.ask import Need
from fairlead.decide.decision import Decision
from fairlead.decide.environments.deployments import Companion, decide_companion
from fairlead.decide.environments.objects.console import console_objects, console_trouble
from fairlead.decide.environments.objects.owner import CONSOLE
from fairlead.decide.environments.seen import CompanionSnapshot


def decide_console(seen: CompanionSnapshot[Console], now: datetime) -> Decision | Need:
    """What is to be done now for the Console that is seen."""
    trouble = console_trouble(seen.own, seen.settings)
    can_be_built = seen.own.status is not None and not trouble
    objects = console_objects(seen.own, seen.settings) if can_be_built else ()
    companion = Companion(resource=CONSOLES, app=CONSOLE, seen=seen, trouble=trouble, objects=objects)
    return decide_companion(companion, now)
