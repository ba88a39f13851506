"""The contracts that there are: a folder each, and a line here."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import cast

from fairlead.engine.contract import Contract

CONTRACTS: dict[str, str] = {
    "zones": "fairlead.contracts.zones.contract",
    "environments": "fairlead.contracts.environments.contract",
}
"""The module with the value `CONTRACT` of each."""


def contract(name: str) -> Contract:
    return cast("Contract", import_module(CONTRACTS[name]).CONTRACT)


def contracts() -> Iterable[Contract]:
    """All of them, in the order in which people meet them."""
    return tuple(map(contract, CONTRACTS))
