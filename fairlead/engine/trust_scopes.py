"""Whose webhook configurations an operator process is to be trusted by, from its options."""

from __future__ import annotations

from fairlead.engine.decide.ca_injection import TrustLabels, TrustScope
from fairlead.engine.leases import place_of
from fairlead.engine.options import OperatorOptions


def trust_scope(options: OperatorOptions, home: str) -> TrustScope | None:
    """None where no contract has configurations that want the authority; `home` is the namespace of the process."""
    contracts = [each.contract for each in options.parts]
    labels = tuple(TrustLabels(*each.trust_labels) for each in contracts if each.trust_labels is not None)
    names = tuple(name for each in contracts for name in each.trust_names)
    if not labels and not names:
        return None
    return TrustScope(next(iter(labels), None), options.namespaces, place_of(options, home), names, labels[1:])
