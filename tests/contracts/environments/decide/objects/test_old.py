"""An environment of a version that knows no listeners file and whose license checks are switched off."""

from __future__ import annotations

from fairlead.contracts.environments.decide.objects.environment import environment_objects
from fairlead.contracts.environments.decide.objects.generation import generation_objects
from tests.contracts.environments.decide.objects.samples import HASH, OLD, metadata, old, the_container, the_pod, trees


def test_an_account_that_exists_is_bound_and_not_created() -> None:
    objects = trees(environment_objects(old(), OLD))

    assert list(objects) == ["Role/m", "RoleBinding/m"]
    assert objects["RoleBinding/m"] == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata("m"),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "m"},
        "subjects": [{"kind": "ServiceAccount", "name": "existing", "namespace": "e"}],
    }


def test_nothing_is_mounted_and_every_listener_has_a_flag() -> None:
    statefulset = generation_objects(old(), 3, HASH, OLD)[3]

    pod, container = the_pod(statefulset), the_container(statefulset)
    assert "volumes" not in pod
    assert "volumeMounts" not in container
    assert pod["serviceAccountName"] == "existing"
    assert [each["name"] for each in container["env"]] == [
        "MZ_METADATA_BACKEND_URL",
        "MZ_PERSIST_BLOB_URL",
        "AWS_REGION",
    ]
    assert container["args"] == [
        "--environment-id=local-kind-12345678-1234-1234-1234-123456789012-0",
        "--clusterd-image=materialize/clusterd:v0.146.0",
        "--cors-allowed-origin=http://local.dev.materialize.com:3000",
        "--cors-allowed-origin=http://local.mtrlz.com:3000",
        "--cors-allowed-origin=http://localhost:3000",
        "--cors-allowed-origin=https://staging.console.materialize.com",
        "--secrets-controller=kubernetes",
        "--system-parameter-default=cluster_enable_topology_spread=false",
        "--system-parameter-default=enable_rbac_checks=false",
        "--persist-isolated-runtime-threads=-1",
        "--orchestrator=kubernetes",
        "--orchestrator-kubernetes-service-account=existing",
        "--orchestrator-kubernetes-image-pull-policy=always",
        "--orchestrator-kubernetes-service-label=materialize.cloud/organization-name=m",
        "--orchestrator-kubernetes-service-label=materialize.cloud/organization-namespace=e",
        "--orchestrator-kubernetes-service-label=materialize.cloud/mz-resource-id=abcdefgh12",
        "--orchestrator-kubernetes-name-prefix=mzabcdefgh12-",
        "--log-format=json",
        "--opentelemetry-resource=organization_id=12345678-1234-1234-1234-123456789012",
        "--opentelemetry-resource=environment_name=m",
        "--tls-mode=disable",
        "--orchestrator-kubernetes-service-fs-group=999",
        "--persist-pubsub-url=http://mzabcdefgh12-persist-pubsub-3:6879",
        "--internal-persist-pubsub-listen-addr=0.0.0.0:6879",
        "--deploy-generation=3",
        "--internal-console-redirect-url=https://console.materialize.com",
        "--orchestrator-kubernetes-disable-pod-metrics-collection",
        "--disable-license-key-checks",
        "--sql-listen-addr=0.0.0.0:6875",
        "--http-listen-addr=0.0.0.0:6876",
        "--internal-sql-listen-addr=0.0.0.0:6877",
        "--internal-http-listen-addr=0.0.0.0:6878",
    ]
