"""What is done for a Console, whoever made it."""

from __future__ import annotations

from datetime import datetime

from fairlead.api.environments import CONSOLES
from fairlead.decide.decision import Decision
from fairlead.decide.environments.deployments import Companion, decide_companion
from fairlead.decide.environments.objects.console import console_objects, console_trouble
from fairlead.decide.environments.objects.owner import CONSOLE
from fairlead.decide.environments.seen import ConsoleSnapshot


def decide_console(seen: ConsoleSnapshot, now: datetime) -> Decision:
    """What is to be done now for the Console that is seen."""
    own = seen.console
    trouble = console_trouble(own, seen.settings)
    can_be_built = own.status is not None and not trouble
    companion = Companion(
        resource=CONSOLES,
        app=CONSOLE,
        own=own,
        deployment=seen.deployment,
        children=seen.children,
        has_certificates=seen.has_certificates,
        applied=seen.applied,
        answers=seen.answers,
        trouble=trouble,
        objects=console_objects(own, seen.settings) if can_be_built else (),
    )
    return decide_companion(companion, now)
