"""What the operator may do: the table of the contract (section 2.13), and all that it grants itself."""

from __future__ import annotations

from fairlead.contracts.environments.install.objects import objects
from fairlead.contracts.environments.install.values import Values
from tests.contracts.zones.install.test_permissions import Grant, grants, role

FULL = "create update patch delete get list watch"
CONTRACT = (
    grants("", "configmaps persistentvolumeclaims pods secrets serviceaccounts services", FULL)
    | grants("networking.k8s.io", "networkpolicies", FULL)
    | grants("rbac.authorization.k8s.io", "roles rolebindings", FULL)
    | grants("rbac.authorization.k8s.io", "clusterroles", "bind", "environmentd")
    | grants("apps", "deployments statefulsets", FULL)
    | grants("apiextensions.k8s.io", "customresourcedefinitions customresourcedefinitions/status", FULL)
    | grants(
        "materialize.cloud",
        "materializes materializes/status balancers balancers/status consoles consoles/status vpcendpoints",
        FULL,
    )
    | grants("cert-manager.io", "certificates", FULL)
    | grants("metrics.k8s.io", "pods", "get list")
    | grants(
        "custom.metrics.k8s.io",
        "persistentvolumeclaims/kubelet_volume_stats_capacity_bytes"
        " persistentvolumeclaims/kubelet_volume_stats_used_bytes",
        "get",
    )
)
"""But for the contract's rights on namespaces, which nothing needs."""
OWNERS = grants("materialize.cloud", "materializes/finalizers balancers/finalizers consoles/finalizers", "update")
"""What a strict cluster asks of those who make objects that hold up the deletion of their owner."""
EVENTS = grants("", "events", "create patch")
LEASES = grants("coordination.k8s.io", "leases", "get create update")
OF_AN_ENVIRONMENT: set[Grant] = (
    grants("apps", "statefulsets", FULL)
    | grants("", "persistentvolumeclaims pods secrets services", FULL)
    | grants("materialize.cloud", "vpcendpoints", FULL)
    | grants("", "configmaps", "get")
    | grants("metrics.k8s.io", "pods", "get list")
    | grants(
        "custom.metrics.k8s.io",
        "persistentvolumeclaims/kubelet_volume_stats_capacity_bytes"
        " persistentvolumeclaims/kubelet_volume_stats_used_bytes",
        "get",
    )
)
"""The Role that the operator makes for each."""


def test_in_all_namespaces_it_is_the_table_of_the_contract_and_events_and_owners() -> None:
    inside = role(objects(Values(namespace="mz")), "ClusterRole")

    assert set(inside) == CONTRACT | EVENTS | OWNERS
    assert len(inside) == len(set(inside)), "nothing is granted twice"


def test_in_its_own_namespace_it_holds_a_lease() -> None:
    made = objects(Values(namespace="mz"))

    assert set(role(made)) == LEASES
    (found,) = [one for one in made if one["kind"] == "Role"]
    assert found["metadata"]["namespace"] == "mz"


def test_it_may_do_all_that_it_grants_to_environments() -> None:
    assert set(role(objects(Values(namespace="mz")), "ClusterRole")) >= OF_AN_ENVIRONMENT
