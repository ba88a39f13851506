"""The contracts that there are: a folder each, and a line here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fairlead.engine.contract import Contract, Room, deciders_of

if TYPE_CHECKING:
    from fairlead.core.replay import Decider

CONTRACTS: dict[str, str] = {
    "zones": "fairlead.contracts.zones.contract",
    "environments": "fairlead.contracts.environments.contract",
    "leaderworker": "fairlead.contracts.leaderworker.contract",
    "plans": "fairlead.contracts.plans.contract",
    "apiversions": "fairlead.contracts.apiversions.contract",
}
"""The module with the value `CONTRACT` of each."""


def contract(name: str) -> Contract:
    return cast("Contract", import_module(CONTRACTS[name]).CONTRACT)


def chart_of(name: str) -> Path:
    """The folder of a contract's chart, among its rooms."""
    rooms = Path(str(import_module(CONTRACTS[name]).__file__)).parent
    return rooms / "install" / "charts" / contract(name).chart


def contracts() -> Iterable[Contract]:
    """All of them, in the order in which people meet them."""
    return tuple(map(contract, CONTRACTS))


def rule_sets() -> Mapping[str, Room[Any]]:
    """By name, of all contracts: sets of conversion rules that come with this release."""
    return {name: room for each in contracts() for name, room in each.rule_sets.items()}


def deciders() -> Mapping[str, Decider]:
    """By controller, of all contracts: what decides its rounds, and from what."""
    return deciders_of(contracts())
