"""How one operator process is to run: what every process name's flags come down to."""

from __future__ import annotations

from msgspec import Struct


class OperatorOptions(Struct, frozen=True, kw_only=True):
    process: str
    """The name it was started under, for user agents, metrics and messages."""
    namespaces: tuple[str, ...] = ()
    """Empty: all namespaces."""
    parts: tuple[str, ...] = ("zones",)
    log_level: str = "info"
    """`debug`, `info`, `warn` or `error`."""
    log_format: str = "logfmt"
    """`logfmt` or `json`."""
    server_port: int = 8001
    """0: any free port."""
    api_url: str = ""
    config_file: str = ""
    by_contract: bool = False
    """Started under a contract's name: no config file then means the in-cluster configuration and nothing else."""
    context: str = ""
    impersonate: str = ""
    interval: float | None = None
    """Least seconds between two passes of a group; None: passes follow the facts."""
    client_timeout: float = 300.0
    qps: float = 0.0
    """0: no limit of ours."""
    burst: int = 0
    lease: str | None = None
    """Name of the Lease to hold while acting; None: no election."""
    identity: str = ""
    """Who holds the Lease."""
