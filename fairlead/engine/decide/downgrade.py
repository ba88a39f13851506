"""Which version of the operator may lead: its holder notes on a Lease who it is, and the
highest version that ever led and had its kinds registered. A candidate of a lower minor version leaves the Lease alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.core.domain import DOMAIN
from fairlead.core.semantic_versions import parse

OPERATOR_VERSION = f"{DOMAIN}/operator-version"
MAX_OPERATOR_VERSION = f"{DOMAIN}/max-operator-version"
REFUSED = "DowngradeRefused"


def is_downgrade(own: str, annotations: Mapping[str, str]) -> bool:
    """Whether a version of a higher minor has led. What is no version tells nothing, so that nobody is locked out."""
    version, most = parse(own), parse(annotations.get(MAX_OPERATOR_VERSION, ""))
    return version is not None and most is not None and version.line < most.line


def refusal(own: str, annotations: Mapping[str, str]) -> str:
    most = annotations[MAX_OPERATOR_VERSION]
    return (
        f"version {own} does not lead after {most}: run {most} or a newer one, or this one with --allow-downgrade "
        f"(or without that option remove the annotation {MAX_OPERATOR_VERSION} from the Lease)"
    )


def unknown_storage(definitions: Iterable[tuple[str, str, frozenset[str]]]) -> str:
    """Why not even a downgrade that is allowed is carried out; each is a name, its storage version, and those known."""
    found = [f"{name} is stored in {storage}" for name, storage, known in definitions if storage not in known]
    if not found:
        return ""
    return f"{' and '.join(found)}, which this version does not know: run the newer version, or migrate to an older one"


def noted(own: str, annotations: Mapping[str, str], *, registered: bool, lowers: bool) -> Mapping[str, str]:
    """What the holder writes on the Lease; `lowers`: a downgrade is allowed, so its version is the highest from now."""
    version, most = parse(own), parse(annotations.get(MAX_OPERATOR_VERSION, ""))
    if version is None:
        return {}
    is_higher = most is None or version.precedence > most.precedence
    is_lowered = lowers and most is not None and version.line < most.line
    return {OPERATOR_VERSION: own} | ({MAX_OPERATOR_VERSION: own} if registered and (is_higher or is_lowered) else {})
