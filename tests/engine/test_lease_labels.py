"""Which part a Lease says it belongs to."""

from __future__ import annotations

import pytest

from fairlead.contracts.environments.kinds import OWN_LABELS as OF_ENVIRONMENTS
from fairlead.contracts.environments.settings import Settings
from fairlead.contracts.zones.kinds import OWN_LABELS as OF_ZONES
from fairlead.engine.leases import labels_of, leases_of
from fairlead.engine.options import OperatorOptions
from tests.operator_parts import ZONES, environments


@pytest.mark.parametrize(
    ("parts", "labels"),
    [
        (("zones",), {"own": OF_ZONES}),
        (("environments",), {"own": OF_ENVIRONMENTS, "orchestratord": OF_ENVIRONMENTS}),
        (("environments", "zones"), {"own": OF_ZONES, "orchestratord": OF_ENVIRONMENTS}),
        (("zones", "environments"), {"own": OF_ZONES, "orchestratord": OF_ENVIRONMENTS}),
    ],
)
def test_a_lease_carries_the_labels_of_its_part(parts: tuple[str, ...], labels: dict[str, dict[str, str]]) -> None:
    known = {"zones": ZONES, "environments": environments(Settings())}
    chosen = tuple(known[part] for part in parts)
    options = OperatorOptions(process="fairlead", namespaces=("test",), lease="own", parts=chosen)

    assert {lease: labels_of(options, lease) for lease in leases_of(options)} == labels
