"""What a real API server (1.36) said to objects with one field changed: refusals, unknown fields, what it wrote.

The objects are those of `tests.e2e.typed_objects`; a place is a path with slashes.
"""

from __future__ import annotations

from typing import Any

REFUSED: list[tuple[str, str, Any, str]] = [
    ("ConfigMap", "data/a", 1, "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
    (
        "ConfigMap",
        "data",
        [],
        ("json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string"),
    ),
    (
        "ConfigMap",
        "data",
        "x",
        ("json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string"),
    ),
    ("ConfigMap", "binaryData/c", "a=b", "illegal base64 data at input byte 1"),
    ("ConfigMap", "binaryData/c", "YQ", "illegal base64 data at input byte 0"),
    (
        "ConfigMap",
        "binaryData/c",
        1,
        ("json: cannot unmarshal number into Go struct field ConfigMap.binaryData of type []uint8"),
    ),
    (
        "ConfigMap",
        "immutable",
        "yes",
        "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool",
    ),
    (
        "ConfigMap",
        "immutable",
        0,
        "json: cannot unmarshal number into Go struct field ConfigMap.immutable of type bool",
    ),
    (
        "ConfigMap",
        "metadata",
        [],
        ("json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
    ),
    (
        "ConfigMap",
        "metadata/name",
        1,
        ("json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"),
    ),
    (
        "ConfigMap",
        "metadata/labels",
        [],
        ("json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string"),
    ),
    (
        "ConfigMap",
        "metadata/labels/app",
        True,
        ("json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string"),
    ),
    (
        "ConfigMap",
        "metadata/generation",
        "1",
        ("json: cannot unmarshal string into Go struct field ObjectMeta.metadata.generation of type int64"),
    ),
    (
        "ConfigMap",
        "metadata/generation",
        1.5,
        ("json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64"),
    ),
    (
        "ConfigMap",
        "metadata/creationTimestamp",
        "yesterday",
        ('parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'),
    ),
    (
        "ConfigMap",
        "metadata/creationTimestamp",
        1,
        ("json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string"),
    ),
    (
        "ConfigMap",
        "metadata/creationTimestamp",
        "",
        'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"',
    ),
    (
        "ConfigMap",
        "metadata/deletionTimestamp",
        "2030-13-01T00:00:00Z",
        'parsing time "2030-13-01T00:00:00Z": month out of range',
    ),
    (
        "ConfigMap",
        "metadata/deletionTimestamp",
        "2030-02-30T00:00:00Z",
        'parsing time "2030-02-30T00:00:00Z": day out of range',
    ),
    (
        "ConfigMap",
        "metadata/deletionTimestamp",
        "2030-01-01 00:00:00Z",
        ('parsing time "2030-01-01 00:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00Z" as "T"'),
    ),
    (
        "ConfigMap",
        "metadata/deletionTimestamp",
        "2030-01-01T00:00:00",
        ('parsing time "2030-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"'),
    ),
    (
        "ConfigMap",
        "metadata/deletionTimestamp",
        "2030-01-01T00:00:00+25:00",
        'parsing time "2030-01-01T00:00:00+25:00": time zone offset hour out of range',
    ),
    (
        "ConfigMap",
        "metadata/deletionTimestamp",
        "2030-01-01T00:00:00Zz",
        'parsing time "2030-01-01T00:00:00Zz": extra text: "z"',
    ),
    (
        "ConfigMap",
        "metadata/ownerReferences/0/controller",
        "x",
        (
            "json: cannot unmarshal string into Go struct field OwnerReference.metadata."
            "ownerReferences.controller of type bool"
        ),
    ),
    (
        "ConfigMap",
        "metadata/ownerReferences/0",
        1,
        (
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata."
            "ownerReferences of type v1.OwnerReference"
        ),
    ),
    (
        "ConfigMap",
        "metadata/ownerReferences",
        {},
        (
            "json: cannot unmarshal object into Go struct field ObjectMeta.metadata."
            "ownerReferences of type []v1.OwnerReference"
        ),
    ),
    (
        "ConfigMap",
        "metadata/finalizers",
        "x",
        ("json: cannot unmarshal string into Go struct field ObjectMeta.metadata.finalizers of type []string"),
    ),
    (
        "ConfigMap",
        "metadata/finalizers",
        ["a", 2],
        ("json: cannot unmarshal number into Go struct field ObjectMeta.metadata.finalizers of type string"),
    ),
    (
        "ConfigMap",
        "metadata/ownerReferences/0/uid",
        3,
        (
            "json: cannot unmarshal number into Go struct field OwnerReference.metadata."
            "ownerReferences.uid of type types.UID"
        ),
    ),
    ("Pod", "spec", 1, "json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec"),
    (
        "Pod",
        "spec/containers",
        {},
        ("json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container"),
    ),
    (
        "Pod",
        "spec/containers",
        [1],
        ("json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type v1.Container"),
    ),
    (
        "Pod",
        "spec/containers/0/ports/0/containerPort",
        "80",
        (
            "json: cannot unmarshal string into Go struct field ContainerPort.spec.containers."
            "ports.containerPort of type int32"
        ),
    ),
    (
        "Pod",
        "spec/containers/0/ports/0/containerPort",
        1099511627776,
        (
            "json: cannot unmarshal number 1099511627776 into Go struct field ContainerPort.spec."
            "containers.ports.containerPort of type int32"
        ),
    ),
    (
        "Pod",
        "spec/containers/0/ports/0/protocol",
        6,
        (
            "json: cannot unmarshal number into Go struct field ContainerPort.spec.containers."
            "ports.protocol of type v1.Protocol"
        ),
    ),
    (
        "Pod",
        "spec/containers/0/livenessProbe/httpGet/port",
        True,
        (
            "json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers."
            "livenessProbe.ProbeHandler.httpGet.port of type int32"
        ),
    ),
    (
        "Pod",
        "spec/containers/0/livenessProbe/httpGet/port",
        1.5,
        (
            "json: cannot unmarshal number 1.5 into Go struct field HTTPGetAction.spec."
            "containers.livenessProbe.ProbeHandler.httpGet.port of type int32"
        ),
    ),
    (
        "Pod",
        "spec/containers/0/livenessProbe/exec",
        [],
        (
            "json: cannot unmarshal array into Go struct field Probe.spec.containers."
            "livenessProbe.ProbeHandler.exec of type v1.ExecAction"
        ),
    ),
    (
        "Pod",
        "spec/containers/0/resources/limits/memory",
        "1GB",
        ("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ),
    (
        "Pod",
        "spec/containers/0/resources/limits/memory",
        True,
        ("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ),
    ("Pod", "spec/containers/0/resources/limits/memory", "5ii", "unable to parse quantity's suffix"),
    (
        "Pod",
        "spec/containers/0/resources/limits",
        [],
        (
            "json: cannot unmarshal array into Go struct field ResourceRequirements.spec."
            "containers.resources.limits of type v1.ResourceList"
        ),
    ),
    (
        "Pod",
        "spec/containers/0/env/0/value",
        1,
        ("json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string"),
    ),
    (
        "Pod",
        "spec/containers/0/args",
        [1],
        ("json: cannot unmarshal number into Go struct field Container.spec.containers.args of type string"),
    ),
    (
        "Pod",
        "spec/volumes/0/configMap",
        [],
        (
            "json: cannot unmarshal array into Go struct field Volume.spec.volumes.VolumeSource."
            "configMap of type v1.ConfigMapVolumeSource"
        ),
    ),
    (
        "Pod",
        "spec/volumes/0/configMap/name",
        1,
        (
            "json: cannot unmarshal number into Go struct field ConfigMapVolumeSource.spec."
            "volumes.VolumeSource.configMap.LocalObjectReference.name of type string"
        ),
    ),
    (
        "Pod",
        "spec/volumes/0/configMap/items/0/mode",
        "0644",
        (
            "json: cannot unmarshal string into Go struct field KeyToPath.spec.volumes."
            "VolumeSource.configMap.items.mode of type int32"
        ),
    ),
    (
        "Pod",
        "spec/nodeSelector",
        "x",
        ("json: cannot unmarshal string into Go struct field PodSpec.spec.nodeSelector of type map[string]string"),
    ),
    (
        "Pod",
        "spec/terminationGracePeriodSeconds",
        "30",
        ("json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64"),
    ),
    (
        "Pod",
        (
            "spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/"
            "labelSelector/matchLabels/app"
        ),
        1,
        (
            "json: cannot unmarshal number into Go struct field LabelSelector.spec.affinity."
            "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.labelSelector."
            "matchLabels of type string"
        ),
    ),
    (
        "Deployment",
        "spec/replicas",
        "2",
        ("json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"),
    ),
    (
        "Deployment",
        "spec/replicas",
        1.0,
        ("json: cannot unmarshal number 1.0 into Go struct field DeploymentSpec.spec.replicas of type int32"),
    ),
    (
        "Deployment",
        "spec/paused",
        "no",
        ("json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool"),
    ),
    (
        "Deployment",
        "spec/strategy/rollingUpdate/maxSurge",
        {},
        (
            "json: cannot unmarshal object into Go struct field RollingUpdateDeployment.spec."
            "strategy.rollingUpdate.maxSurge of type int32"
        ),
    ),
    (
        "Deployment",
        "spec/template/spec/containers/0/image",
        5,
        (
            "json: cannot unmarshal number into Go struct field Container.spec.template.spec."
            "containers.image of type string"
        ),
    ),
    (
        "Deployment",
        "spec/strategy",
        [],
        (
            "json: cannot unmarshal array into Go struct field DeploymentSpec.spec.strategy of "
            "type v1.DeploymentStrategy"
        ),
    ),
    (
        "StatefulSet",
        "spec/volumeClaimTemplates/0/spec/accessModes",
        "RWO",
        (
            "json: cannot unmarshal string into Go struct field PersistentVolumeClaimSpec.spec."
            "volumeClaimTemplates.spec.accessModes of type []v1.PersistentVolumeAccessMode"
        ),
    ),
    (
        "StatefulSet",
        "spec/volumeClaimTemplates/0/spec/accessModes/0",
        1,
        (
            "json: cannot unmarshal number into Go struct field PersistentVolumeClaimSpec.spec."
            "volumeClaimTemplates.spec.accessModes of type v1.PersistentVolumeAccessMode"
        ),
    ),
    (
        "StatefulSet",
        "spec/updateStrategy/rollingUpdate/partition",
        "1",
        (
            "json: cannot unmarshal string into Go struct field RollingUpdateStatefulSetStrategy."
            "spec.updateStrategy.rollingUpdate.partition of type int32"
        ),
    ),
    (
        "Service",
        "spec/ports/0/port",
        "80",
        ("json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32"),
    ),
    (
        "Service",
        "spec/ports/0/targetPort",
        [],
        ("json: cannot unmarshal array into Go struct field ServicePort.spec.ports.targetPort of type int32"),
    ),
    (
        "Service",
        "spec/selector/app",
        1,
        ("json: cannot unmarshal number into Go struct field ServiceSpec.spec.selector of type string"),
    ),
    (
        "Service",
        "spec/type",
        1,
        ("json: cannot unmarshal number into Go struct field ServiceSpec.spec.type of type v1.ServiceType"),
    ),
    (
        "PodDisruptionBudget",
        "spec/minAvailable",
        True,
        ("json: cannot unmarshal bool into Go struct field PodDisruptionBudgetSpec.spec.minAvailable of type int32"),
    ),
    (
        "PodDisruptionBudget",
        "spec/selector",
        "app=web",
        (
            "json: cannot unmarshal string into Go struct field PodDisruptionBudgetSpec.spec."
            "selector of type v1.LabelSelector"
        ),
    ),
    (
        "HorizontalPodAutoscaler",
        "spec/metrics/0/resource/target/averageValue",
        "a lot",
        ("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ),
    (
        "HorizontalPodAutoscaler",
        "spec/maxReplicas",
        "3",
        (
            "json: cannot unmarshal string into Go struct field HorizontalPodAutoscalerSpec.spec."
            "maxReplicas of type int32"
        ),
    ),
    (
        "Job",
        "spec/completions",
        "1",
        ("json: cannot unmarshal string into Go struct field JobSpec.spec.completions of type int32"),
    ),
    ("Job", "spec/suspend", 1, "json: cannot unmarshal number into Go struct field JobSpec.spec.suspend of type bool"),
    ("Role", "rules", "all", ("json: cannot unmarshal string into Go struct field Role.rules of type []v1.PolicyRule")),
    (
        "Role",
        "rules/0/verbs",
        "get",
        ("json: cannot unmarshal string into Go struct field PolicyRule.rules.verbs of type []string"),
    ),
    (
        "Role",
        "rules/0/verbs/0",
        1,
        ("json: cannot unmarshal number into Go struct field PolicyRule.rules.verbs of type string"),
    ),
    (
        "NetworkPolicy",
        "spec/ingress/0/ports/0/port",
        {},
        ("json: cannot unmarshal object into Go struct field NetworkPolicyPort.spec.ingress.ports.port of type int32"),
    ),
    (
        "NetworkPolicy",
        "spec/podSelector",
        [],
        (
            "json: cannot unmarshal array into Go struct field NetworkPolicySpec.spec."
            "podSelector of type v1.LabelSelector"
        ),
    ),
    ("Event", "count", "1", "json: cannot unmarshal string into Go struct field Event.count of type int32"),
    (
        "Event",
        "firstTimestamp",
        1,
        ("json: cannot unmarshal number into Go struct field Event.firstTimestamp of type string"),
    ),
    (
        "Event",
        "eventTime",
        "2030-01-01T00:00:00Z",
        ('parsing time "2030-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'),
    ),
    (
        "Lease",
        "spec/renewTime",
        "2030-01-01T00:00:00Z",
        ('parsing time "2030-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'),
    ),
    (
        "Lease",
        "spec/leaseDurationSeconds",
        "5",
        ("json: cannot unmarshal string into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32"),
    ),
    (
        "Node",
        "spec/unschedulable",
        "x",
        ("json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable of type bool"),
    ),
    (
        "Node",
        "spec/taints/0/timeAdded",
        "x",
        'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ),
    (
        "CustomResourceDefinition",
        "spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/n/maximum",
        "5",
        (
            "json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions."
            "schema.openAPIV3Schema.properties.properties.maximum of type float64"
        ),
    ),
    (
        "CustomResourceDefinition",
        "spec/versions/0/served",
        "true",
        (
            "json: cannot unmarshal string into Go struct field CustomResourceDefinitionVersion."
            "spec.versions.served of type bool"
        ),
    ),
    (
        "CustomResourceDefinition",
        "spec/versions/0/schema/openAPIV3Schema/additionalProperties",
        1,
        "boolean or JSON schema expected",
    ),
    (
        "CustomResourceDefinition",
        "spec/versions/0/schema/openAPIV3Schema/properties/list",
        {"items": {"items": {"maxLength": "x"}}},
        (
            "json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions."
            "schema.openAPIV3Schema.properties.items.items.maxLength of type int64"
        ),
    ),
    (
        "ValidatingWebhookConfiguration",
        "webhooks/0/timeoutSeconds",
        "5",
        ("json: cannot unmarshal string into Go struct field ValidatingWebhook.webhooks.timeoutSeconds of type int32"),
    ),
    (
        "ValidatingWebhookConfiguration",
        "webhooks/0/clientConfig/caBundle",
        "not base64",
        "illegal base64 data at input byte 3",
    ),
    (
        "ValidatingWebhookConfiguration",
        "webhooks/0/rules/0/operations/0",
        1,
        (
            "json: cannot unmarshal number into Go struct field RuleWithOperations.webhooks."
            "rules.operations of type v1.OperationType"
        ),
    ),
    ("Secret", "data/a", "a", "illegal base64 data at input byte 0"),
    (
        "Secret",
        "stringData/b",
        1,
        "json: cannot unmarshal number into Go struct field Secret.stringData of type string",
    ),
]
"""Kinds, places, values, and why they were refused."""

UNKNOWN: list[tuple[str, list[str], str]] = [
    ("ConfigMap", ["odd"], 'unknown field "odd"'),
    (
        "Pod",
        ["spec/containers/0/livenessProbe/odd", "spec/odd", "metadata/odd"],
        (
            'unknown field "metadata.odd", unknown field "spec.containers[0].livenessProbe.odd", '
            'unknown field "spec.odd"'
        ),
    ),
    (
        "Deployment",
        ["spec/template/spec/volumes/0/configMap/odd", "spec/Replicas"],
        ('unknown field "spec.template.spec.volumes[0].configMap.odd", unknown field "spec.Replicas"'),
    ),
    ("Service", ["spec/ports/0/odd"], 'unknown field "spec.ports[0].odd"'),
    ("Role", ["rules/0/odd"], 'unknown field "rules[0].odd"'),
    (
        "NetworkPolicy",
        ["spec/ingress/0/from/0/podSelector/odd"],
        'unknown field "spec.ingress[0].from[0].podSelector.odd"',
    ),
    (
        "CustomResourceDefinition",
        ["spec/versions/0/schema/openAPIV3Schema/properties/spec/odd", "spec/versions/0/odd"],
        (
            'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.odd", '
            'unknown field "spec.versions[0].odd"'
        ),
    ),
    ("Lease", ["spec/odd"], 'unknown field "spec.odd"'),
    ("Node", ["status/nodeInfo/odd"], 'unknown field "status.nodeInfo.odd"'),
    ("Event", ["source/odd"], 'unknown field "source.odd"'),
    ("Job", ["spec/template/metadata/odd"], 'unknown field "spec.template.metadata.odd"'),
]
"""Kinds, places that there are none of, and what a strict server said."""

ABSENT = "absent"
WRITTEN: list[tuple[str, str, Any, Any]] = [
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "1000m", "1"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "0.5", "500m"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "1024Mi", "1Gi"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "1.5Gi", "1536Mi"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", 2, "2"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", 0.1, "100m"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "1e3", "1e3"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "0", "0"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "+5", "+5"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "1.500", "1.500"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "100n", "1m"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "0.0001", "1m"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "0.5Gi", "512Mi"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "1023Mi", "1023Mi"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "100000Ki", "100000Ki"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "123456789Ki", "123456789Ki"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "5E", "5E"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "10000000k", "10G"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "1E3", "1E3"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "12e6", "12e6"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "0.1m", "1m"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", " 1 ", "1"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "1536Mi", "1536Mi"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "00.5", "500m"),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "1.", "1."),
    ("Pod", "spec/containers/0/resources/requests/ephemeral-storage", "3000m", "3"),
    ("HorizontalPodAutoscaler", "spec/metrics/0/resource/target/averageValue", "1500m", "1500m"),
    ("HorizontalPodAutoscaler", "spec/metrics/0/resource/target/averageValue", "0.0001", "100u"),
    ("HorizontalPodAutoscaler", "spec/metrics/0/resource/target/averageValue", "100n", "100n"),
    ("HorizontalPodAutoscaler", "spec/metrics/0/resource/target/averageValue", "1e3", "1e3"),
    ("HorizontalPodAutoscaler", "spec/metrics/0/resource/target/averageValue", "0.1u", "100n"),
    ("HorizontalPodAutoscaler", "spec/metrics/0/resource/target/averageValue", "10n", "10n"),
    ("Pod", "spec/containers/0/workingDir", "", ABSENT),
    ("Pod", "spec/containers/0/workingDir", None, ABSENT),
    ("Pod", "spec/containers/0/workingDir", "x", "x"),
    ("Pod", "spec/containers/0/stdin", False, ABSENT),
    ("Pod", "spec/containers/0/stdin", True, True),
    ("Pod", "spec/containers/0/stdin", None, ABSENT),
    ("Pod", "spec/automountServiceAccountToken", False, False),
    ("Pod", "spec/automountServiceAccountToken", True, True),
    ("Pod", "spec/automountServiceAccountToken", None, ABSENT),
    ("Pod", "spec/containers/0/livenessProbe/initialDelaySeconds", 0, ABSENT),
    ("Pod", "spec/containers/0/livenessProbe/initialDelaySeconds", None, ABSENT),
    ("Pod", "spec/containers/0/livenessProbe/initialDelaySeconds", 5, 5),
    ("Pod", "spec/imagePullSecrets", [], ABSENT),
    ("Pod", "spec/imagePullSecrets", None, ABSENT),
    ("Pod", "spec/nodeSelector", {}, ABSENT),
    ("Pod", "spec/nodeSelector", None, ABSENT),
    ("Pod", "spec/containers/0/securityContext", {}, {}),
    ("Pod", "spec/containers/0/securityContext", None, ABSENT),
    ("Pod", "spec/affinity", {}, {}),
    ("Pod", "spec/affinity", None, ABSENT),
    ("Pod", "spec/containers/0/args", ["a", None], ["a", ""]),
    ("Pod", "metadata/annotations", {"a": None}, {"a": ""}),
    ("Pod", "spec/containers/0/env/0/value", "", ABSENT),
    ("Pod", "spec/containers/0/env/0/valueFrom", None, ABSENT),
    ("Pod", "spec/containers/0/resources", {}, {}),
    ("Pod", "spec/containers/0/resources", None, {}),
    ("Pod", "spec/containers/0/resources", {"limits": {}}, {}),
    (
        "Pod",
        "spec/containers/0/env",
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}],
    ),
    ("Pod", "spec/volumes/1/emptyDir", {}, {}),
    ("Pod", "spec/volumes/1/emptyDir", {"medium": "", "sizeLimit": None}, {}),
    ("Pod", "metadata/labels", {}, ABSENT),
    ("Pod", "metadata/generateName", "", ABSENT),
    ("Pod", "metadata/ownerReferences/0/controller", False, False),
    ("Deployment", "spec/replicas", 0, 0),
    ("Deployment", "spec/minReadySeconds", 0, ABSENT),
    ("Deployment", "spec/paused", False, ABSENT),
    ("Deployment", "spec/revisionHistoryLimit", 0, 0),
    ("Deployment", "spec/template/metadata/annotations", {}, ABSENT),
    ("Deployment", "spec/strategy/rollingUpdate/maxSurge", "10%", "10%"),
    ("Deployment", "spec/template/metadata/creationTimestamp", None, ABSENT),
    ("Deployment", "spec/template/metadata/creationTimestamp", "2030-01-01T01:00:00.5+01:00", "2030-01-01T00:00:00Z"),
    ("StatefulSet", "spec/serviceName", None, ""),
    ("Service", "spec/externalIPs", [], ABSENT),
    ("Service", "spec/publishNotReadyAddresses", False, ABSENT),
    ("Service", "spec/ports/0/nodePort", 0, ABSENT),
    ("ConfigMap", "immutable", False, False),
    ("ConfigMap", "data", {}, ABSENT),
    ("ConfigMap", "data", {"a": None}, {"a": ""}),
    ("ConfigMap", "data", None, ABSENT),
    ("PodDisruptionBudget", "spec/selector", {}, {}),
    ("PodDisruptionBudget", "spec/selector", None, ABSENT),
    ("PodDisruptionBudget", "spec/minAvailable", 0, 0),
    ("PodDisruptionBudget", "spec/selector", {"matchLabels": {}, "matchExpressions": []}, {}),
    ("Role", "rules", [], None),
    ("Role", "rules", None, None),
    ("Role", "rules/0/resourceNames", [], ABSENT),
    ("NetworkPolicy", "spec/ingress", [], ABSENT),
    ("NetworkPolicy", "spec/ingress", [{}], [{}]),
    ("NetworkPolicy", "spec/podSelector", {}, {}),
    ("NetworkPolicy", "spec/podSelector", None, {}),
    ("Event", "firstTimestamp", None, None),
    ("Event", "firstTimestamp", "2030-01-01T01:00:00+01:00", "2030-01-01T00:00:00Z"),
    ("Event", "count", 0, ABSENT),
    ("Event", "eventTime", None, None),
    ("Event", "source", {}, {}),
    ("Event", "series", None, ABSENT),
    ("Lease", "spec/renewTime", "2030-01-01T02:00:00.500000+02:00", "2030-01-01T00:00:00.500000Z"),
    ("Lease", "spec/renewTime", None, ABSENT),
    ("Lease", "spec/holderIdentity", "", ""),
    ("Lease", "spec/strategy", "OldestEmulationVersion", ABSENT),
    ("Lease", "spec/leaseTransitions", 0, 0),
    ("Node", "spec/unschedulable", False, ABSENT),
    ("Node", "status/capacity", {"cpu": "4000m", "memory": "16384Mi"}, {"cpu": "4", "memory": "16Gi"}),
    ("Node", "status/images", [], ABSENT),
    ("Node", "status/daemonEndpoints", None, {"kubeletEndpoint": {"Port": 0}}),
    ("Job", "spec/suspend", True, True),
    ("Job", "spec/template/spec/restartPolicy", "Never", "Never"),
    ("HorizontalPodAutoscaler", "spec/minReplicas", 1, 1),
    (
        "CustomResourceDefinition",
        "spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/n/default",
        None,
        ABSENT,
    ),
    ("CustomResourceDefinition", "spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/n/maximum", 5.0, 5),
    ("CustomResourceDefinition", "spec/names/shortNames", [], ABSENT),
    ("CustomResourceDefinition", "spec/versions/0/additionalPrinterColumns", [], ABSENT),
    ("CustomResourceDefinition", "spec/versions/0/deprecated", False, ABSENT),
    (
        "CustomResourceDefinition",
        "spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/n/enum",
        [None, 1],
        [None, 1],
    ),
    ("CustomResourceDefinition", "spec/versions/0/subresources", {"status": {}}, {"status": {}}),
    ("ValidatingWebhookConfiguration", "webhooks", [], ABSENT),
    ("ValidatingWebhookConfiguration", "webhooks/0/clientConfig/caBundle", "", ABSENT),
]
"""Kinds, places, values, and what stood there in the answer."""
