"""What is in the way of a watch, said in the log when it changes: who does not see must not be silent about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kubeloop.errors import Forbidden, NotFound
from kubeloop.objects.meta import Resource
from kubeloop.watch import Unreadable

if TYPE_CHECKING:
    from structlog.types import FilteringBoundLogger


class WatchTroubles:
    """The words about one informer; `failed` and `restored` are what it calls."""

    def __init__(
        self,
        resource: Resource,
        namespace: str,
        log: FilteringBoundLogger,
        is_optional: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_optional` says whether all goes on without the resource when it is not served or not permitted."""
        self._is_optional = is_optional
        self._log = log.bind(resource=resource.plural, namespace=namespace or "all")
        self._said = ""
        """The last failure, until it is over."""

    def failed(self, error: Exception) -> None:
        """One record for each failure that differs from the one before, and for each object that cannot be read."""
        if isinstance(error, Unreadable):
            self._log.warning("object cannot be read", object="/".join(error.key), error=str(error))
        elif str(error) != self._said:
            self._said = str(error)
            missing = self._is_optional() and isinstance(error, NotFound | Forbidden)
            self._log.warning("carrying on without" if missing else "watch failed", error=self._said)

    def restored(self) -> None:
        self._said = ""
        self._log.info("watch restored")
