"""How one operator process is to run: what every process name's flags come down to."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fairlead.engine.contract import Contract
from fairlead.engine.decide.guard import USUAL_POLICY, VersionPolicy
from fairlead.engine.serving.cluster_label import ClusterLabel
from fairlead.engine.serving.plain_paths import EVERYWHERE, PlainPaths
from fairlead.engine.serving.tls_limits import USUAL_TLS, TlsLimits

YEAR = 365 * 86400.0


class KeptAuthority(Struct, frozen=True):
    """An authority that is kept with its key beside the certificate that it signs, by the names of TLS Secrets.

    The Secret is there from the installation, and is filled here.
    """

    common_name: str
    organisation: str


class WebhookOptions(Struct, frozen=True, kw_only=True):
    """How webhooks are served."""

    port: int = 8443
    """0: any free port."""
    host: str = EVERYWHERE
    certificate_file: str = ""
    """With `key_file`: a certificate made by others; without them one is made and kept in a Secret."""
    key_file: str = ""
    secret: str
    """That holds a certificate made by us."""
    dns_name: str = ""
    """Empty: `<service>.<namespace>.svc` with the name of the process."""
    organisation: str
    """Of a certificate made by us."""
    lifetime: float = YEAR
    """Seconds that a certificate made by us is valid."""
    renews: bool = False
    """Whether certificates are replaced while running; else the process ends with its certificate."""
    injects: bool = True
    """Whether the authority of a certificate made by us is written into the webhook configurations that want it."""
    authority: KeptAuthority | None = None
    """Kept in the Secret; None: the certificate is signed by one whose key is forgotten at once."""
    tls: TlsLimits = USUAL_TLS


class MetricsOptions(Struct, frozen=True, kw_only=True):
    """Metrics over HTTPS, for the bearers of tokens who may read them."""

    port: int = 8443
    """0: any free port."""
    host: str = EVERYWHERE
    path: str = "/metrics"
    certificate_file: str = ""
    """With `key_file`: used where both are there; else the certificate is made at the start and kept nowhere."""
    key_file: str = ""
    tls: TlsLimits = USUAL_TLS


class LeaseTimes(Struct, frozen=True):
    """Seconds: how long a Lease counts, how long its holder tries to renew it, and how long lies between two tries."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


USUAL_TIMES = LeaseTimes()


class PartOptions(Struct, frozen=True):
    """A contract that a process acts for."""

    contract: Contract
    settings: Any
    """As its `part` takes them."""


class OperatorOptions(Struct, frozen=True, kw_only=True):
    process: str
    """The name it was started under, for user agents, metrics and messages."""
    namespaces: tuple[str, ...] = ()
    """Empty: all namespaces."""
    parts: tuple[PartOptions, ...]
    log_level: str = "info"
    """`debug`, `info`, `warn` or `error`."""
    log_format: str = "logfmt"
    """`logfmt` or `json`."""
    server_port: int | None = 8001
    """0: any free port; None: nothing is served there."""
    api_url: str = ""
    config_file: str = ""
    by_contract: bool = False
    """Started under a contract's name: no config file then means the in-cluster configuration and nothing else."""
    context: str = ""
    impersonate: str = ""
    interval: float | None = None
    """Least seconds between two passes of a group; None: passes follow the facts."""
    resync: float | None = None
    """Seconds between two looks at everything; None: five minutes, and never in virtual time, where watches lose
    nothing unless somebody has them do so."""
    client_timeout: float = 300.0
    qps: float = 0.0
    """0: no limit of ours."""
    burst: int = 0
    lease: str | None = None
    """Name of the Lease to hold while acting; None: no election."""
    lease_times: LeaseTimes = USUAL_TIMES
    identity: str = ""
    """Who holds the Lease."""
    webhooks: WebhookOptions | None = None
    """None: none are served."""
    record: str = ""
    """Folder in which rounds are kept, to be decided again; empty: they are not."""
    server_host: str = EVERYWHERE
    """All interfaces by default."""
    plain_paths: PlainPaths = PlainPaths()
    """What that server is asked for."""
    ready_when_served: bool = False
    """Whether a replica is ready once it serves its webhooks; else once its caches are filled."""
    grace_seconds: float = 30.0
    """From a signal to the moment when a process that still runs is killed."""
    secure_metrics: MetricsOptions | None = None
    """None: there are none."""
    metrics_address: tuple[str, int] | None = None
    """Host and port of a plain server that has metrics and nothing else; None: there is none."""
    cluster: ClusterLabel | None = None
    """What requests to both servers must say; None: they are not checked."""

    versions: VersionPolicy = USUAL_POLICY
    """Which version this is, and what becomes of objects and Leases of others."""

    @property
    def home(self) -> str:
        """Namespace of what belongs to the operator when all namespaces are served; empty: the one it runs in."""
        homes = (each.contract.home(each.settings) for each in self.parts)
        return next(filter(None, homes), "")

    @property
    def rejoins(self) -> bool:
        """Whether a lost Lease is stood for again; else the process ends with it."""
        return any(each.contract.rejoins for each in self.parts)
