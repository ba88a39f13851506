"""One listener that converts for all parts of a process: where API servers find it, whom they trust, and for what.

A part keeps it, with a certificate that is exchanged in turn; others give it the reviews of their own kinds to answer,
and register these beside whoever else writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairlead.engine.certificates import pairs
from fairlead.engine.conversion.webhook import ReviewTerms
from fairlead.engine.decide.owned_definitions import DefinitionOwner
from fairlead.engine.decide.registration import ConversionWebhook, Tree
from fairlead.engine.decide.replicas import ReplicaQuestion


class SharedConversion:
    """Of one process."""

    def __init__(
        self,
        webhook: ConversionWebhook,
        port: int,
        owner: DefinitionOwner,
        replicas: ReplicaQuestion,
        reviews: ReviewTerms,
    ) -> None:
        self.webhook = webhook
        self.port = port
        """Which the process listens on."""
        self.owner = owner
        """As whom definitions are written."""
        self.replicas = replicas
        """Who must be able to convert what is registered."""
        self.reviews = reviews
        """What reviews of all kinds are held to there, and how they are answered."""
        self.bundle: Callable[[], bytes] = lambda: b""
        """PEM of the authorities for a definition that begins to name the listener; set by whoever keeps it."""
        self._kinds: dict[str, tuple[str, ...]] = {}

    @property
    def kinds(self) -> Mapping[str, tuple[str, ...]]:
        """By definition: the versions that other parts convert here."""
        return self._kinds

    def takes(self, definition: Tree) -> None:
        """Objects of the definition are converted here from now on, by the part that says so."""
        self._kinds[definition["metadata"]["name"]] = tuple(each["name"] for each in definition["spec"]["versions"])


class SharedBundle:
    """What a definition is to trust of the listener; which authorities come and go is for its keeper to write."""

    def __init__(self, shared: SharedConversion) -> None:
        self._shared = shared

    def wanted(self) -> bytes:
        return self._shared.bundle()

    def is_enough(self, wanted: bytes, held: bytes) -> bool:
        """Whether one authority that is served under is among those that are held."""
        return not wanted or bool({*dict(pairs.authorities(held))} & {*dict(pairs.authorities(wanted))})

    def next_change(self) -> None:
        """Nothing changes only because time has passed."""

    def saw(self, name: str, held: bytes | None) -> None:
        """Whoever keeps the listener watches all that name it."""

    def subscribe(self, handler: Callable[[], None]) -> None:
        """What is wanted of a definition that has a bundle does not change here."""
