"""What the fields mean, as `kubectl explain` shows it."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.environments.install.v1alpha1 import OldSpec, OldStatus
from fairlead.contracts.environments.kinds import (
    BalancerdAddress,
    BalancerSpec,
    CertificateSpec,
    CompanionStatus,
    Condition,
    ConsoleSpec,
    FronteggRouting,
    IssuerRef,
    MaterializeSpec,
    MaterializeStatus,
    SecretTemplate,
    StaticRouting,
)

_ROLLS = "A change starts a rollout."
_AUTHENTICATOR = "How users prove who they are."
_RESOURCES = "Resources of each {} pod; absent: the operator's default."
_CERTIFICATE = "Certificate of {}; what is absent comes from the operator's default."
_REPLICAS = "Number of {} pods; absent: 2."
_POD_ANNOTATIONS = "Annotations of the pods."
_POD_LABELS = "Labels of the pods."
_CONDITIONS = "What became of the last change."

_MATERIALIZE = {
    "environmentdImageRef": "Image of environmentd; the other images follow from it. " + _ROLLS,
    "environmentdExtraArgs": "Arguments of environmentd after those the operator gives. " + _ROLLS,
    "environmentdExtraEnv": "Environment variables of environmentd besides those the operator sets. " + _ROLLS,
    "environmentdConnectionRoleArn": "On AWS, the role that connections use; absent: the operator's flag. " + _ROLLS,
    "environmentdResourceRequirements": _RESOURCES.format("environmentd") + " " + _ROLLS,
    "environmentdScratchVolumeStorageRequirement": "Size of the scratch volume. " + _ROLLS,
    "balancerdResourceRequirements": _RESOURCES.format("balancerd"),
    "consoleResourceRequirements": _RESOURCES.format("console"),
    "balancerdReplicas": _REPLICAS.format("balancerd"),
    "consoleReplicas": _REPLICAS.format("console"),
    "serviceAccountName": "ServiceAccount of the pods; absent: one is made with the name of this object. " + _ROLLS,
    "serviceAccountAnnotations": "Annotations of the ServiceAccount that is made. " + _ROLLS,
    "serviceAccountLabels": "Labels of the ServiceAccount that is made. " + _ROLLS,
    "podAnnotations": _POD_ANNOTATIONS + " " + _ROLLS,
    "podLabels": _POD_LABELS + " " + _ROLLS,
    "forcePromote": "Promotes the rollout whose status.requestedRolloutHash equals this, without waiting for it to "
    "catch up.",
    "forceRollout": "Change it to roll out with no other change.",
    "rolloutStrategy": "WaitUntilReady promotes as soon as the next generation has caught up, ManuallyPromote waits "
    "for forcePromote, ImmediatelyPromoteCausingDowntime removes the serving generation first. " + _ROLLS,
    "rolloutRequestTimeout": "How long a rollout may wait before it is given up, such as 90m or 1h 30m; absent or no "
    "duration: 24h. " + _ROLLS,
    "backendSecretName": "Secret with metadata_backend_url, persist_backend_url and license_key. " + _ROLLS,
    "authenticatorKind": _AUTHENTICATOR + " " + _ROLLS,
    "enableRbac": "Whether role-based access control is enforced. " + _ROLLS,
    "environmentId": "Unique in the cluster; the operator fills in an absent one. It cannot change once it is set.",
    "systemParameterConfigmapName": "ConfigMap with system parameters under the key system-params.json. " + _ROLLS,
    "balancerdExternalCertificateSpec": _CERTIFICATE.format("balancerd towards its clients"),
    "consoleExternalCertificateSpec": _CERTIFICATE.format("the console towards its clients"),
    "internalCertificateSpec": _CERTIFICATE.format("environmentd towards balancerd") + " " + _ROLLS,
}
_STATUS = {
    "resourceId": "Part of the names of all objects of this environment; never changes.",
    "activeGeneration": "The generation that serves.",
    "lastCompletedRolloutEnvironmentdImageRef": "Image of the generation that serves.",
    "lastCompletedRolloutHash": "Hash of the spec that the serving generation was made from.",
    "requestedRolloutHash": "Hash of the spec of the rollout in progress, or of the last one.",
    "conditions": _CONDITIONS,
}
_COMPANION = {
    "resourceRequirements": "Resources of each pod; absent: the operator's default.",
    "replicas": "Number of pods; absent: 2.",
    "externalCertificateSpec": _CERTIFICATE.format("the pods towards their clients"),
    "podAnnotations": _POD_ANNOTATIONS,
    "podLabels": _POD_LABELS,
    "resourceId": "Part of the names of all objects made for this one; absent: a random one.",
}

DESCRIPTIONS: dict[type[Struct], dict[str, str]] = {
    MaterializeSpec: _MATERIALIZE,
    OldSpec: _MATERIALIZE
    | {
        "environmentdIamRoleArn": "Deprecated: set the annotation eks.amazonaws.com/role-arn in "
        "serviceAccountAnnotations instead, where this moves.",
        "requestRollout": "Ignored: a changed spec rolls out by itself; equal to status.lastCompletedRolloutRequest "
        "when nothing is left to do.",
        "inPlaceRollout": "Deprecated and ignored.",
    },
    MaterializeStatus: _STATUS,
    OldStatus: _STATUS
    | {
        "lastCompletedRolloutRequest": "Derived from lastCompletedRolloutHash.",
        "resourcesHash": "Always empty.",
    },
    BalancerSpec: _COMPANION
    | {
        "balancerdImageRef": "Image of balancerd.",
        "internalCertificateSpec": _CERTIFICATE.format("environmentd, which balancerd connects to"),
        "staticRouting": "The one environment that connections go to.",
        "fronteggRouting": "Not implemented: use staticRouting.",
    },
    ConsoleSpec: _COMPANION
    | {
        "consoleImageRef": "Image of the console.",
        "balancerd": "The balancerd that the console talks to.",
        "authenticatorKind": _AUTHENTICATOR,
    },
    CompanionStatus: {"resourceId": _STATUS["resourceId"], "conditions": "Ready says whether its Deployment is."},
    StaticRouting: {
        "environmentdNamespace": "Namespace of the environment.",
        "environmentdServiceName": "Service of its environmentd.",
    },
    FronteggRouting: {},
    BalancerdAddress: {
        "serviceName": "Service of balancerd.",
        "namespace": "Namespace of that Service.",
        "scheme": "https where balancerd has a certificate.",
        "dnsNames": "Names under which clients reach balancerd.",
    },
    CertificateSpec: {
        "dnsNames": "Names in the certificate besides those of the Service.",
        "duration": "How long a certificate is valid, such as 2160h.",
        "renewBefore": "How long before its end it is renewed, such as 360h.",
        "issuerRef": "The cert-manager issuer; with none, here or by default, there is no certificate.",
        "secretTemplate": "What the Secret with the certificate carries.",
        "privateKeyAlgorithm": "Kind of private key.",
        "privateKeySize": "Bits of the private key: from 2048 for RSA, 256, 384 or 521 for ECDSA.",
    },
    IssuerRef: {
        "name": "Name of the issuer.",
        "kind": "Its kind, such as Issuer or ClusterIssuer.",
        "group": "Its API group.",
    },
    SecretTemplate: {"annotations": "Annotations of the Secret.", "labels": "Labels of the Secret."},
    Condition: {
        "type": "What it is about.",
        "status": "True, False or Unknown.",
        "reason": "Why, in one word.",
        "message": "Why, in a sentence.",
        "lastTransitionTime": "When the status changed last.",
        "observedGeneration": "metadata.generation of the object it was written for.",
    },
}
