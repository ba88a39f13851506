"""Fields that the release knows and throws away, because the features that they belong to are off by default.

They are decoded, so that a value of the wrong type is refused, and are no unknown fields; then they are gone.
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
