"""Commands that are about a whole CRD."""

from __future__ import annotations

from fairlead.engine.command import Invocation, Usage


def refuse_namespaces(called: Invocation, what: str) -> None:
    """Raises Usage where somebody names namespaces for what is always about all of them."""
    if called.namespaces:
        raise Usage(f"{what} is about all objects of a CRD, so it takes no --namespace")
