"""What `fairlead manifests` is told about an installation of API versions."""

from __future__ import annotations

from typing import cast

from fairlead.contracts.apiversions.flags import SECRET, SOURCE
from fairlead.contracts.apiversions.install import access, monitoring, workload
from fairlead.contracts.apiversions.install.values import CERTIFICATE, Values
from fairlead.contracts.apiversions.settings import CertificateSource
from fairlead.core.flags import Flag, FlagError, Given
from fairlead.core.option_kinds import SWITCH
from fairlead.engine.charts import Object
from fairlead.engine.install import Install, InstallPlace

MONITORING = Flag("monitoring", SWITCH, False, "monitor, alerts and a Grafana dashboard")
NETWORK_POLICY = Flag("network-policy", SWITCH, False, "limit what reaches the operator's pods")


def _values(place: InstallPlace, given: Given) -> Values:
    source = cast("CertificateSource", given[SOURCE] or "self-signed")
    if source == "secret" and not given[SECRET]:
        raise FlagError(f"{given.place(SECRET)} is missing: name the Secret that holds the certificate")
    return Values(
        namespace=place.namespace,
        image=place.image,
        source=source,
        secret=given[SECRET] or CERTIFICATE,
        monitoring=given[MONITORING],
        network_policy=given[NETWORK_POLICY],
    )


def objects(values: Values) -> tuple[Object, ...]:
    """In the order in which they are to be applied."""
    watched = monitoring.objects(values) if values.monitoring else ()
    return (*access.objects(values), *workload.objects(values), *watched)


INSTALL = Install(flags=(MONITORING, NETWORK_POLICY, SOURCE, SECRET), values=_values, objects=objects)
