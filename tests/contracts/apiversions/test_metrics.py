"""What an operator counts of conversions."""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.loaded_rules import Loaded, State
from fairlead.contracts.apiversions.metrics import ConversionMetrics
from fairlead.engine.metrics import Metrics

CRD = "widgets.example.test"


def test_what_alerts_look_for_is_counted_from_0_on() -> None:
    """Of a series that begins with its first count Prometheus sees no increase."""
    metrics = Metrics()
    told = metrics.of(ConversionMetrics)

    told.show({CRD: Loaded(crd=CRD, state=State.LOADED, versions=("v1", "v2"))})

    shown = metrics.exposition().decode()
    for version in ("v1", "v2"):
        assert f'fairlead_conversion_carry_discarded_total{{crd="{CRD}",to="{version}"}} 0.0' in shown
        for result in ("failure", "unavailable"):
            series = f'fairlead_conversion_reviews_total{{crd="{CRD}",result="{result}",to="{version}"}}'
            assert f"{series} 0.0" in shown
