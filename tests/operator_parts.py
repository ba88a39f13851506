"""What operators of tests act for, and what was chosen for them by others."""

from __future__ import annotations

from fairlead.contracts import contract
from fairlead.contracts.environments.settings import ConversionOptions, EnvironmentsOptions
from fairlead.contracts.environments.settings import Settings as EnvironmentSettings
from fairlead.contracts.zones.settings import Settings
from fairlead.engine.manager import Manager
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop.calls import Handler

ZONES = PartOptions(contract("zones"), Settings())


def zones(settings: Settings) -> PartOptions:
    return PartOptions(contract("zones"), settings)


def environments(settings: EnvironmentSettings, conversion: ConversionOptions | None = None) -> PartOptions:
    return PartOptions(contract("environments"), EnvironmentsOptions(settings=settings, conversion=conversion))


def names(options: OperatorOptions) -> tuple[str, ...]:
    return tuple(part.contract.name for part in options.parts)


def zone_settings(options: OperatorOptions) -> Settings:
    (found,) = (part.settings for part in options.parts if part.contract.name == "zones")
    assert isinstance(found, Settings)
    return found


def environments_options(options: OperatorOptions) -> EnvironmentsOptions:
    (found,) = (part.settings for part in options.parts if part.contract.name == "environments")
    assert isinstance(found, EnvironmentsOptions)
    return found


def converting(manager: Manager) -> Handler:
    """The conversion webhook, as a cluster in the same process asks it."""
    (server,) = (server for server in manager.servers if server.name == "conversion")
    assert server.handler is not None
    return server.handler
