"""Whom an object belongs to, and what it carries for that (section 2.6): labels, the owner reference, its place.

Nothing that is applied holds a null: a field that is applied as null is owned, and whoever wants to set it has to
take it away by force.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from fairlead.contracts.environments.decide.objects.names import prefixed
from fairlead.contracts.environments.decide.objects.wanted import Environment, Wanted, encoded
from fairlead.contracts.environments.kinds import (
    APP,
    BALANCERS,
    CONSOLES,
    MATERIALIZES,
    ORGANIZATION_NAME,
    ORGANIZATION_NAMESPACE,
    RESOURCE_ID,
    Balancer,
    Console,
    Json,
    Text,
)
from kubeloop.objects.meta import Resource

T = TypeVar("T")

ENVIRONMENTD = "environmentd"
BALANCERD = "balancerd"
CONSOLE = "console"


class Owner(Struct, frozen=True, kw_only=True):
    """An environment, a balancer or a console."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    resource_id: str
    app: str
    """The program that runs for it."""

    @property
    def identity(self) -> Text:
        """The labels by which everything of this owner is found."""
        return {
            ORGANIZATION_NAME: self.name,
            ORGANIZATION_NAMESPACE: self.namespace,
            RESOURCE_ID: self.resource_id,
        }

    @property
    def labels(self) -> Text:
        """Of its objects."""
        marked = {} if self.resource == MATERIALIZES else {APP: self.app}
        return recommended(self.app) | self.identity | marked

    @property
    def reference(self) -> Json:
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "name": self.name,
            "uid": self.uid,
            "blockOwnerDeletion": True,
        }

    def prefixed(self, name: str) -> str:
        return prefixed(self.resource_id, name)

    def wanted(
        self,
        resource: Resource,
        name: str,
        content: Json,
        *,
        labels: Text | None = None,
        annotations: Text | None = None,
    ) -> Wanted:
        """An object of this owner; with annotations of None it gets none, and an empty map is said to be empty."""
        metadata: Json = {
            "name": name,
            "namespace": self.namespace,
            "labels": self.labels if labels is None else labels,
            "ownerReferences": [self.reference],
            "annotations": annotations,
        }
        tree = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **content}
        return Wanted(resource, self.namespace, name, encoded(without_nulls(tree)))


def recommended(app: str) -> Text:
    """B8: the labels that Kubernetes recommends, and the short one that many tools look at."""
    return {
        "app.kubernetes.io/managed-by": "materialize-operator",
        "app.kubernetes.io/part-of": "materialize",
        "app.kubernetes.io/name": app,
        "app": app,
    }


def owner_of_environment(environment: Environment) -> Owner:
    return Owner(
        resource=MATERIALIZES,
        namespace=environment.namespace,
        name=environment.name,
        uid=environment.uid,
        resource_id=environment.resource_id,
        app=ENVIRONMENTD,
    )


def owner_of_balancer(balancer: Balancer) -> Owner:
    return _companion(balancer, BALANCERS, BALANCERD)


def owner_of_console(console: Console) -> Owner:
    return _companion(console, CONSOLES, CONSOLE)


def _companion(companion: Balancer | Console, resource: Resource, app: str) -> Owner:
    if companion.status is None:
        raise ValueError(f"{resource.kind} {companion.metadata.name} has no resource id yet: its status comes first")
    return Owner(
        resource=resource,
        namespace=companion.metadata.namespace,
        name=companion.metadata.name,
        uid=companion.metadata.uid,
        resource_id=companion.status.resource_id,
        app=app,
    )


def without_nulls(tree: Json) -> Json:
    """The same without members that are null, however deep."""
    return {key: _without_nulls(value) for key, value in tree.items() if value is not None}


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return without_nulls(value)
    if isinstance(value, list | tuple):
        return [_without_nulls(each) for each in value]
    return value


def filled(value: T) -> T | None:
    """None in place of what is empty: an optional field is left out rather than applied as empty."""
    return value or None
