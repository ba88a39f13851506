"""CustomResourceDefinitions of the zone contract, as its chart has them."""

from __future__ import annotations

from fairlead.contracts.zones.install.values import CHART
from fairlead.engine.charts import Object, custom_resources


def definitions() -> tuple[Object, ...]:
    return custom_resources(CHART)
