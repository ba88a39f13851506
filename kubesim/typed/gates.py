"""Fields that are decoded otherwise than their types say.

Those of features that are off by default are decoded, so that a value of the wrong type is refused, and are no unknown
fields; then they are gone. Of some lists it counts whether they are empty or not there.
"""

from __future__ import annotations

DROPPED: dict[str, tuple[str, ...]] = {
    "coordination.v1.LeaseSpec": ("preferredHolder", "strategy"),  # CoordinatedLeaderElection
    "core.v1.Lifecycle": ("stopSignal",),  # ContainerStopSignals
    "core.v1.PodSpec": ("schedulingGroup",),  # GenericWorkload
    "core.v1.PodStatus": ("nodeAllocatableResourceClaimStatuses",),  # DRANodeAllocatableResources
    "core.v1.VolumeMountStatus": ("volumeStatus",),  # ImageVolumeWithDigest
    "core.v1.VolumeProjection": (
        "clusterTrustBundle",
        "podCertificate",
    ),  # ClusterTrustBundleProjection, PodCertificateRequest
}
"""By the name of a struct."""
TOLD_EMPTY: dict[str, tuple[str, ...]] = {
    "apis.apiextensions.v1.CustomResourceDefinitionSpec": ("versions",),
    "autoscaling.v2.HPAScalingRules": ("policies",),
    "batch.v1.PodFailurePolicyOnExitCodesRequirement": ("values",),
}
"""Lists that are refused when they are empty, so that none is ever stored."""
