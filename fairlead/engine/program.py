"""How a contract's operator is told what to do: under a name of its own, or as a part of `fairlead operator`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairlead.core.flags import Flag, Given
from fairlead.core.option_kinds import DURATION
from fairlead.engine.decide.guard import USUAL_POLICY, VersionPolicy

if TYPE_CHECKING:
    from fairlead.engine.options import OperatorOptions  # whoever asks for help waits for no module

LEVELS = ("debug", "info", "warn", "error")
FORMATS = ("logfmt", "json")


class Program(Struct, frozen=True, kw_only=True):
    """A name under which the operator is started, with the flags of its contract."""

    name: str
    dialect: str
    """How flags are written: `go` or `clap`."""
    flags: tuple[Flag[Any], ...]
    variables: str = ""
    """Before the names of flags that are given as variables, in dialects that have them."""
    options: Callable[[Given, Mapping[str, str]], OperatorOptions]
    """What flags and variables come down to; raises FlagError."""
    asked: Callable[[Given], str] = lambda _: ""
    """What to print where somebody asks for that alone, and the operator is not to run; empty: it is."""
    warnings: Callable[[Given], Iterable[str]] = lambda _: ()
    """A sentence for each thing that was given and is not used."""
    elsewhere: str = ""
    """What helps outside of a cluster, where the program would run inside of one; empty: nothing does."""


INTERVAL = Flag("interval", DURATION, "", "least time between two passes of a rollout")
"""Of the command, and of sections of contracts whose passes it spaces."""


class CommonOptions(Struct, frozen=True, kw_only=True):
    """What `fairlead operator` is told for all contracts that it serves, as far as contracts need to know."""

    parts: tuple[str, ...] = ()
    """The contracts that are served."""
    webhooks: bool = False
    request_timeout: float = 10.0
    """Seconds for a webhook request."""
    authority_file: str = ""
    certificate_file: str = ""
    key_file: str = ""
    webhooks_port: int | None = None
    """None: nobody has said."""
    certificate_secret: str = ""
    """Empty: nobody has said."""
    certificate_name: str = ""
    """In DNS, of the webhooks; empty: nobody has said."""
    elects: bool = True
    """Whether to act only while holding a Lease."""
    identity: str = ""
    """Who holds the Lease; empty: nobody has said."""
    versions: VersionPolicy = USUAL_POLICY
    """What becomes of objects and Leases of other versions of the operator."""
    serving_paths: tuple[str, ...] = ()
    """Where the plain server says whether this replica answers what API servers ask, whoever leads."""
    alive_paths: tuple[str, ...] = ()
    """Where it says that the process is alive, besides the usual path."""


class Section(Struct, frozen=True, kw_only=True):
    """How `fairlead operator` is told about a contract: in a section of its file, and by options, which win."""

    flags: tuple[Flag[Any], ...]
    are_options: bool = False
    """Whether the flags are options of the command, too."""
    missing: str = ""
    """What to say to whoever serves the contract without a section; empty: it needs none."""
    defaults: Callable[[CommonOptions], Mapping[str, object]] = lambda _: {}
    """Instead of the flags' own."""
    settings: Callable[[Given, CommonOptions], Any]
    """What they come down to, as the contract's part takes it; raises FlagError."""
    variables: str = ""
    """Before the names of flags that are given as variables, too; empty: they are not."""
    shared: tuple[Flag[Any], ...] | None = None
    """Those that count although the contract is not served; the others are then refused. None: all of them do."""
    common: Callable[[Given, CommonOptions], CommonOptions] = lambda _, common: common
    """What is said for all contracts, with what these flags say about that; raises FlagError."""


def identity() -> str:
    """Of this process among all, for a Lease."""
    import socket
    import uuid

    return f"{socket.gethostname()}_{uuid.uuid4()}"
