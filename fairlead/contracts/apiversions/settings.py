"""What an operator is told about versions of APIs, beside what rule sets and definitions say themselves.

Times are seconds.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from fairlead.engine.decide.guard import Adopt, OnNewer, VersionPolicy

HOUR = 3600.0

CertificateSource = Literal["self-signed", "cert-manager", "secret"]


class CertificateSettings(Struct, frozen=True, kw_only=True):
    """Where the certificate of webhooks comes from, and how long what is made here lasts."""

    source: CertificateSource = "self-signed"
    secret: str = "fairlead-webhook-cert"  # noqa: S105  (a name)
    """In the operator's namespace."""
    folder: str = ""
    """Of files that are read instead of the Secret; empty: the Secret is read."""
    validity: float = 8760 * HOUR
    rotate_before: float = 24 * HOUR
    authority_validity: float = 87600 * HOUR
    authority_rotate_before: float = 8760 * HOUR
    reload_interval: float = 10.0
    """From a change of what is read to its use, at most."""
    overlap: float = HOUR
    """For which an authority stays trusted after the last replica has stopped using it."""


class ReviewLimits(Struct, frozen=True, kw_only=True):
    """What conversion reviews are held to."""

    largest: int = 64 << 20
    """Bytes of a review."""
    timeout: float = 20.0
    """After which a review has failed."""
    concurrent: int = 8
    """Reviews that are converted at once; others wait."""


class MigrationSettings(Struct, frozen=True, kw_only=True):
    """How the operator moves what is stored."""

    at_start: bool = True
    qps: float = 5.0
    burst: int = 10


class UpgradeSettings(Struct, frozen=True, kw_only=True):
    """What becomes of objects and Leases of other versions of the operator."""

    allow_downgrade: bool = False
    on_newer: Literal["ignore", "handle"] = "ignore"
    adopt: Literal["compatible", "never", "always"] = "compatible"
    normalize_payload: bool = False
    offline: Literal["off", "auto"] = "off"
    backup_folder: str = ""
    legacy_annotation: bool = False
    """Whether the version is written under ECK's key as well."""

    @property
    def policy(self) -> VersionPolicy:
        """For all parts of the process."""
        return VersionPolicy(
            adopt=Adopt(self.adopt),
            on_newer=OnNewer(self.on_newer),
            legacy=self.legacy_annotation,
            allow_downgrade=self.allow_downgrade,
        )


class ApiVersionsSettings(Struct, frozen=True, kw_only=True):
    pod_name: str = ""
    """Of this replica; empty: as `POD_NAME` says, and a process without that is no pod."""
    serves: bool = True
    """Whether webhooks are served here; else definitions do without conversion."""
    conversion: Literal["webhook", "none"] = "webhook"
    """The strategy of own definitions."""
    service_name: str = ""
    service_namespace: str = ""
    service_port: int = 443
    port: int = 9443
    """On which this replica serves them."""
    manages_definitions: bool = True
    """Whether own definitions are registered at the start."""
    takes_over: bool = False
    """Whether a conversion that names somebody else's webhook is overwritten."""
    rules: tuple[str, ...] = ()
    """Files and folders with rule sets, besides the ConfigMaps."""
    certificates: CertificateSettings = CertificateSettings()
    reviews: ReviewLimits = ReviewLimits()
    migration: MigrationSettings = MigrationSettings()
    upgrades: UpgradeSettings = UpgradeSettings()

    @property
    def server_name(self) -> str:
        """By which API servers call the webhooks; empty: nobody has said."""
        return f"{self.service_name}.{self.service_namespace}.svc" if self.service_name else ""
