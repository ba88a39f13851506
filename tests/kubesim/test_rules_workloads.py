"""Rules for kinds that keep pods running, in the server's words."""

from __future__ import annotations

import pytest

from kubesim.rules import workloads
from tests.kubesim.trees import Tree


@pytest.mark.parametrize(
    ("rolling", "shown"),
    [
        (None, '{"Type":"x","RollingUpdate":null}'),
        ({"maxUnavailable": "25%"}, '{"Type":"x","RollingUpdate":{"MaxUnavailable":"25%","MaxSurge":0}}'),
        ({}, '{"Type":"x","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":0}}'),
    ],
)
def test_a_strategy_of_no_known_type_is_shown_with_its_zeros(rolling: Tree | None, shown: str) -> None:
    strategy = {"type": "x"} | ({} if rolling is None else {"rollingUpdate": rolling})

    (cause,) = workloads._deployment_strategy(strategy)

    assert cause.message == f'Unsupported value: {shown}: supported values: "Recreate", "RollingUpdate"'
