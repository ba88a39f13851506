"""The kinds that the embedded cluster serves, a line each.

What a kind needs beyond create, read, update and delete is said by its flags; defaults and rules live in `defaults`
and `validate`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from fairlead.api.meta import Resource


class Kind(Struct, frozen=True):
    """How one resource is served."""

    resource: Resource
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    has_generation: bool = False
    """Changes of the spec are counted in metadata.generation."""
    graceful: bool = False
    """Deletion waits for the grace period and for whoever runs the object."""
    returns_deleted: bool = False
    """A deletion answers with the object instead of a Status."""
    create_on_update: bool = False
    """A PUT to a name that does not exist creates it."""
    unconditional_update: bool = True
    """A PUT without a resource version overwrites."""
    fields: tuple[str, ...] = ()
    """Field selectors beyond metadata.name and metadata.namespace, as paths in the stored object."""
    stored_as: Resource | None = None
    """Another resource whose objects these are, seen through a different version."""

    @property
    def storage(self) -> Resource:
        return self.stored_as or self.resource

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


def _core(plural: str, kind: str, *, namespaced: bool = True) -> Resource:
    return Resource("", "v1", plural, kind, namespaced)


NAMESPACES = _core("namespaces", "Namespace", namespaced=False)
NODES = _core("nodes", "Node", namespaced=False)
PODS = _core("pods", "Pod")
SERVICES = _core("services", "Service")
CONFIG_MAPS = _core("configmaps", "ConfigMap")
SECRETS = _core("secrets", "Secret")
SERVICE_ACCOUNTS = _core("serviceaccounts", "ServiceAccount")
CORE_EVENTS = _core("events", "Event")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
CONTROLLER_REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")

_POD_FIELDS = ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase")
_EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "reason",
    "reportingComponent",
    "type",
)

KINDS = (
    Kind(CONFIG_MAPS, "configmap", ("cm",)),
    Kind(CORE_EVENTS, "event", ("ev",), create_on_update=True, fields=_EVENT_FIELDS),
    Kind(NAMESPACES, "namespace", ("ns",), (), ("status",), returns_deleted=True, fields=("status.phase",)),
    Kind(NODES, "node", ("no",), (), ("status",), fields=("spec.unschedulable",)),
    Kind(
        PODS,
        "pod",
        ("po",),
        ("all",),
        ("binding", "eviction", "status"),
        has_generation=True,
        graceful=True,
        returns_deleted=True,
        fields=_POD_FIELDS,
    ),
    Kind(SECRETS, "secret", fields=("type",)),
    Kind(SERVICE_ACCOUNTS, "serviceaccount", ("sa",), returns_deleted=True),
    Kind(SERVICES, "service", ("svc",), ("all",), ("status",), returns_deleted=True, create_on_update=True),
    Kind(CONTROLLER_REVISIONS, "controllerrevision"),
    Kind(STATEFUL_SETS, "statefulset", ("sts",), ("all",), ("scale", "status"), has_generation=True),
    Kind(LEASES, "lease", create_on_update=True, unconditional_update=False),
    Kind(EVENTS, "event", ("ev",), create_on_update=True, fields=_EVENT_FIELDS, stored_as=CORE_EVENTS),
)


class Registry:
    """Looks kinds up by the parts of a path."""

    def __init__(self, kinds: Iterable[Kind] = KINDS) -> None:
        self._kinds = {(kind.resource.group, kind.resource.version, kind.resource.plural): kind for kind in kinds}

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def kind(self, resource: Resource) -> Kind:
        """The kind of a resource that is known to be served."""
        return self._kinds[resource.group, resource.version, resource.plural]

    def stored(self) -> tuple[Kind, ...]:
        """Every kind that has a store of its own."""
        return tuple(kind for kind in self._kinds.values() if kind.stored_as is None)

    def versions(self) -> dict[str, list[str]]:
        """Versions of each group in the order of the table."""
        groups: dict[str, list[str]] = {}
        for group, version, _ in self._kinds:
            if version not in groups.setdefault(group, []):
                groups[group].append(version)
        return groups

    def served(self, group: str, version: str) -> tuple[Kind, ...]:
        return tuple(
            kind for kind in self._kinds.values() if (kind.resource.group, kind.resource.version) == (group, version)
        )
