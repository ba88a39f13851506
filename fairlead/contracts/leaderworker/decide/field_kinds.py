"""What is known of the fields of pod templates: which are optional pointers, maps, quantities or sources of volumes.

Go writes and reads these kinds differently, so that the same template has several spellings. Facts about the types of
the Kubernetes API, by the name of a field and, where one name is two kinds, by the field that it stands in. Entries of
a list stand in the field of the list.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")

POINTERS = _names(
    """
    activeDeadlineSeconds allowPrivilegeEscalation apiGroup automountServiceAccountToken cachingMode defaultMode
    enableServiceLinks expirationSeconds fsGroup fsGroupChangePolicy gmsaCredentialSpec gmsaCredentialSpecName
    hostProcess hostUsers hostnameOverride initiatorName localhostProfile maxExpirationSeconds minDomains mode
    mountPropagation nodeAffinityPolicy nodeTaintsPolicy optional podGroupName preemptionPolicy priority privileged
    procMount readOnlyRootFilesystem recursiveReadOnly resourceClaimName resourceClaimTemplateName runAsGroup
    runAsNonRoot runAsUser runAsUserName runtimeClassName seLinuxChangePolicy setHostnameAsFQDN shareProcessNamespace
    size sizeLimit stopSignal storageClassName subGroupPolicyType subGroupSize subdomainPolicy supplementalGroupsPolicy
    terminationGracePeriodSeconds tolerationSeconds volumeAttributesClassName volumeMode
    """
)
"""An explicit zero of these means something."""

_POINTERS_IN = frozenset(
    {
        ("azureDisk", "fsType"),
        ("azureDisk", "kind"),
        ("azureDisk", "readOnly"),
        ("clusterTrustBundle", "name"),
        ("clusterTrustBundle", "signerName"),
        ("csi", "fsType"),
        ("csi", "readOnly"),
        ("dataSourceRef", "namespace"),
        ("fc", "lun"),
        ("grpc", "service"),
        ("hostPath", "type"),
        ("options", "value"),
        *((each, "restartPolicy") for each in _CONTAINERS),
    }
)

PLAIN = _names(
    """
    action apiVersion audience certificateChainPath chapAuthDiscovery chapAuthSession containerName
    credentialBundlePath datasetName datasetUUID directory dnsPolicy effect failureThreshold fsType group host hostIP
    hostIPC hostNetwork hostPID hostPort hostname image imagePullPolicy initialDelaySeconds iscsiInterface key keyPath
    keyType keyring kind level medium name nodeName operator partition path periodSeconds pool prefix
    priorityClassName protectionDomain protocol pullPolicy readOnly reference request restartPolicy revision role
    schedulerName scheme secretFile secretName serviceAccount serviceAccountName signerName sslEnabled stdin stdinOnce
    storageMode storagePolicyID storagePolicyName storagePool subPath subPathExpr subdomain successThreshold
    targetContainerName tenant terminationMessagePath terminationMessagePolicy timeoutSeconds tty type user value
    volumeName volumeNamespace whenDeleted whenScaled workingDir generateName namespace
    """
)
"""Texts, numbers and booleans that Go leaves out when they are zero."""

_REQUIRED_IN = frozenset({("httpHeaders", "value"), ("sysctls", "value")})
"""Of the same names, those that Go always writes and that may be zero in a valid object."""

MAPS = _names("annotations labels matchLabels nodeSelector userAnnotations volumeAttributes")
"""Their entries are no fields: an empty text is a value."""
QUANTITY_MAPS = _names("limits overhead requests")
QUANTITIES = _names("divisor sizeLimit")

KEPT_LISTS = _names("containers monitors nodeSelectorTerms sources")
"""Lists that Go always writes."""

VOLUME_SOURCES = _names(
    """
    awsElasticBlockStore azureDisk azureFile cephfs cinder clusterTrustBundle configMap csi downwardAPI emptyDir
    ephemeral fc flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs persistentVolumeClaim
    photonPersistentDisk podCertificate portworxVolume projected quobyte rbd scaleIO secret serviceAccountToken
    storageos vsphereVolume
    """
)
SELECTORS = _names("labelSelector namespaceSelector selector")
"""Empty, they select everything; absent, nothing."""

ALWAYS_WRITTEN: dict[str, dict[str, object]] = {
    **{each: {"resources": {}} for each in _CONTAINERS},
    "dataSource": {"apiGroup": None},
    "dataSourceRef": {"apiGroup": None},
    "grpc": {"service": None},
    "leaderTemplate": {"metadata": {}, "spec": {}},
    "leaderWorkerTemplate": {"workerTemplate": {}},
    "networkConfig": {"subdomainPolicy": None},
    "projected": {"sources": None},
    "resourceFieldRef": {"divisor": "0"},
    "volumeClaimTemplate": {"metadata": {}, "spec": {}},
    "volumeClaimTemplates": {"metadata": {}, "spec": {}, "status": {}},
    "workerTemplate": {"metadata": {}, "spec": {}},
}
"""By where it stands: what Go writes although nobody gave it."""

CLAIMS = frozenset({"volumeClaimTemplate", "volumeClaimTemplates"})
"""The `spec` of these always has its resources written."""


def is_pointer(parent: str, name: str) -> bool:
    return name in POINTERS or (parent, name) in _POINTERS_IN


def is_plain(parent: str, name: str) -> bool:
    """Whether Go leaves a zero of it out; False for fields that are not known."""
    return name in PLAIN and not is_pointer(parent, name) and (parent, name) not in _REQUIRED_IN


def is_map(name: str) -> bool:
    """Of a field that holds an object; of the two kinds of options only those of flex volumes do."""
    return name in MAPS or name in QUANTITY_MAPS or name == "options"
