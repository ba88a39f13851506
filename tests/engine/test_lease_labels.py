"""Which part a Lease says it belongs to."""

from __future__ import annotations

import pytest

from fairlead.contracts.environments.kinds import OWN_LABELS as OF_ENVIRONMENTS
from fairlead.contracts.zones.kinds import OWN_LABELS as OF_ZONES
from fairlead.engine.assembly import labels_of, leases_of
from fairlead.engine.options import OperatorOptions


@pytest.mark.parametrize(
    ("parts", "labels"),
    [
        (("zones",), {"own": OF_ZONES}),
        (("environments",), {"own": OF_ENVIRONMENTS, "orchestratord": OF_ENVIRONMENTS}),
        (("zones", "environments"), {"own": OF_ZONES, "orchestratord": OF_ENVIRONMENTS}),
    ],
)
def test_a_lease_carries_the_labels_of_its_part(parts: tuple[str, ...], labels: dict[str, dict[str, str]]) -> None:
    options = OperatorOptions(process="fairlead", namespaces=("test",), lease="own", parts=parts)

    assert {lease: labels_of(options, lease) for lease in leases_of(options)} == labels
