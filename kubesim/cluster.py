"""A whole cluster in one object: store, verbs, controllers, ways in."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from kubeloop import clock
from kubeloop.calls import Caller
from kubeloop.objects.meta import Resource
from kubeloop.request import Transport
from kubesim.api.inside import InsideClient
from kubesim.api.verbs import Verbs
from kubesim.auth.rbac import ADMIN, User, insider, user_of
from kubesim.controllers.crds import Definitions
from kubesim.controllers.event_expiry import Expiry
from kubesim.controllers.names import ALL
from kubesim.copies import Copy, Marks, Unusable, pass_all
from kubesim.draws import Draws
from kubesim.kinds.bootstrap import drawn_uid, furnish
from kubesim.kinds.features import turned_on
from kubesim.kinds.registry import NAMESPACES, Registry
from kubesim.network import Network
from kubesim.requests.handling import Handler
from kubesim.store.record import History
from kubesim.store.store import Store
from kubesim.store.versions import Author, Tree
from kubesim.time import START
from kubesim.transport import LocalTransport

FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
SYSTEM = "system:apiserver"
# As observed on an idle cluster.
CONTROLLER_LAG = (0.004, 0.02)
NOBODY = "-----BEGIN CERTIFICATE-----\nZmFpcmxlYWQ6IG5vYm9keSBzZXJ2ZXMgdGhpcyBjbHVzdGVy\n-----END CERTIFICATE-----\n"
"""Of a cluster that is not served; its text says so."""


class Cluster:
    """The embedded cluster; the same seed and the same requests give the same names, UIDs, delays and events.

    `latency` are the least and most seconds of a request in process, `lag` those by which each event reaches clients'
    watches late, `controller_lag` the same for the controllers' own watches. `caller` reaches admission webhooks and
    `pods` what answers at the addresses of pods; without them both are those served on `network`, within the process.
    Without `history` past writes are not kept.
    With `events_expire` Events go after an hour, as on a real server; a laboratory wants to look at them later.
    `feature_gates` are those of `kinds.features` that are on.
    `authority` are the certificates, in PEM, by which the cluster's server is known; every namespace is told them.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        latency: tuple[float, float] = (0.0, 0.0),
        lag: tuple[float, float] = (0.0, 0.0),
        controller_lag: tuple[float, float] = CONTROLLER_LAG,
        namespaces: Sequence[str] = FIRST_NAMESPACES,
        caller: Caller | None = None,
        pods: Caller | None = None,
        authority: str = NOBODY,
        history: bool = True,
        events_expire: bool = False,
        feature_gates: Sequence[str] = (),
    ) -> None:
        self.seed = seed
        self._authority = authority
        self._events_expire = events_expire
        self.store = Store(seed)
        self.network = Network()
        registry = Registry(features=turned_on(feature_gates))
        self.verbs = Verbs(self.store, registry, caller=caller or self.network.call, lag=controller_lag)
        self.handler = Handler(self.verbs, pods or self.network.call, lag=lag)
        self._latency = latency
        self._transports = 0
        author, created = Author(SYSTEM, "create"), _moment()
        for name in namespaces:
            self.store.table(NAMESPACES).write(_namespace(name, self.store, created), None, author)
        furnish(self.store, tuple(namespaces), created, author)
        self.history = History(self.store if history else Store())
        self.definitions = Definitions(self.verbs)
        self.controllers: tuple[str, ...] = ALL
        """Which of them act, as in kube-controller-manager's `--controllers`."""
        self._began = START
        """When it is where no clock runs yet."""
        self.marks = Marks()
        """What is known of its state besides the objects."""

    def transport(self, user: str | User = ADMIN) -> Transport:
        """A way in for one user, within the process; whoever is not `admin` may do what roles grant."""
        self._transports += 1
        acting = user_of(user) if isinstance(user, str) else user
        draws = Draws(self.seed, f"latency {acting.name} {self._transports}")
        return LocalTransport(self.handler, acting, latency=self._latency, draws=draws)

    def inside(self, name: str) -> InsideClient:
        """The API for a program of the cluster's own, in the name of that user, who may do everything."""
        user, handler = insider(name), self.handler
        return InsideClient(
            self.transport(user),
            user=name,
            store=self.store,
            shortcuts=handler.shortcuts,
            admission=handler.admission,
            lag=handler.lag,
            is_near=self._latency[1] <= 0,
        )

    async def run(self) -> None:
        """Runs the controllers until cancelled."""
        # Imported here: controllers are built on the verbs and need not be there to serve requests.
        from kubesim.controllers import manager  # noqa: PLC0415
        from kubesim.controllers.selected_pods import Chosen  # noqa: PLC0415

        authority = self._authority if self.marks.authority is None else self.marks.authority
        given = manager.Setting(self.verbs, Chosen(self.verbs), authority, self.marks.lost_owners)
        self.definitions.go_on()
        async with asyncio.TaskGroup() as group:
            if self._events_expire:
                group.create_task(Expiry(self.store).run(), name="leases of Events")
            manager.start(group, given, self.controllers, self.marks.unread)

    def hold(self, copy: Copy, network: Network | None = None) -> None:
        """Has it hold the copy and nothing else.

        Webhooks of the copy that nobody answers for on the network let everything pass.
        """
        self.marks, self._began = copy.marks, copy.now
        self.store.hold(copy.revision, copy.tables, copy.marks.unread)
        try:
            self.definitions.resume(copy.tables, copy.marks.undefined)
        except ValueError as error:
            raise Unusable(f"definition {error}: copy it again") from error
        hosts = frozenset(copy.marks.unanswered)
        (network or self.network).ask(lambda name: pass_all if name in hosts else None)

    def copy(self) -> Copy:
        """What it holds now, for others to hold; it goes on by itself."""
        return Copy(self.store.revision, _now() or self._began, self.store.tables(), self.marks)

    def compact(self, revision: int | None = None) -> None:
        """Forgets history: watches and pages that start before it are answered with 410."""
        self.store.compact(revision)

    def disconnect(self) -> None:
        """Ends every open watch."""
        self.store.close_watchers()

    def get(self, resource: Resource, namespace: str, name: str) -> Tree:
        """The object as it is now."""
        return self.verbs.read(resource, namespace, name)


def _namespace(name: str, store: Store, created: str) -> Tree:
    """A namespace that is there from the start."""
    uid, labels = drawn_uid(store.draws("uid")), {"kubernetes.io/metadata.name": name}
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": labels, "uid": uid, "creationTimestamp": created},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _moment() -> str:
    """When the cluster is made, which may be before any clock runs."""
    return clock.seconds(_now() or START)


def _now() -> datetime | None:
    """By the loop's clock; None where none runs."""
    try:
        return clock.now()
    except RuntimeError:
        return None
