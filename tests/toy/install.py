"""How the operator of boxes is installed."""

from fairlead.engine.install import Install

INSTALL = Install(
    flags=(),
    values=lambda place, _: place,
    objects=lambda place: ({"kind": "ServiceAccount", "metadata": {"name": "toy", "namespace": place.namespace}},),
)
