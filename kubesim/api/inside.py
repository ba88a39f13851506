"""The API as a program of the cluster's own has it in the same process: a client, and the pods themselves.

What it writes counts as requests of its user: it is told who wrote, and rules hold. Where somebody must be asked about
a write, where requests take time or where something is unusual, there is no short way, and the write is a request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubeloop.client import Client
from kubeloop.objects.core import PODS

if TYPE_CHECKING:  # a program with nothing but a client needs nothing of the server
    from kubeloop.request import Transport
    from kubesim.admission.questions import Admission
    from kubesim.api.pod_shortcuts import Shortcuts
    from kubesim.store.store import Store
    from kubesim.store.versions import Tree, Version
    from kubesim.writes.deletion import Options


class InsideClient(Client):
    """A client that reaches the pods of its cluster without requests, too; every refusal there is a StatusError."""

    def __init__(
        self,
        transport: Transport,
        *,
        user: str,
        store: Store,
        shortcuts: Shortcuts,
        admission: Admission,
        lag: tuple[float, float],
        is_near: bool,
    ) -> None:
        """`lag` is that of its watches; unless it `is_near` requests take time, and all its writes are requests."""
        super().__init__(transport)
        self.store = store
        self.pods = store.table(PODS)
        self.lag = lag
        self._user = user
        self._shortcuts = shortcuts
        self._admission = admission
        self.is_near = is_near

    def put_status(self, pod: Version, fields: Tree) -> Version | None:
        """The pod with these fields in its status; None where there is no short way."""
        return self._shortcuts.put_status(pod, fields, self._user) if self._may("UPDATE", "status", pod) else None

    def bind(self, pod: Version, node: str) -> Version | None:
        """The pod on that node; None where there is no short way."""
        return self._shortcuts.bind(pod, node, self._user) if self._may("CREATE", "binding", pod) else None

    def start(self, pod: Version, node: str, fields: Tree) -> Version | None:
        """The pod on that node with these fields in its status, in one write; None where there is no short way."""
        is_free = self._may("CREATE", "binding", pod) and self._may("UPDATE", "status", pod)
        return self._shortcuts.start(pod, node, fields, self._user) if is_free else None

    def delete(self, pod: Version, options: Options) -> Version | None:
        """The pod as it is while something holds it, or as it was; None where there is no short way."""
        return self._shortcuts.deleted(pod, options, self._user) if self._may("DELETE", "", pod) else None

    def _may(self, operation: str, part: str, pod: Version) -> bool:
        return self.is_near and not self._admission.concerns(operation, PODS, part, pod.head.namespace)
