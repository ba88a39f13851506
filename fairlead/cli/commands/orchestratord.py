"""`orchestratord`: the environment contract's process, with exactly its flags, their checks and its exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fairlead.cli import exits
from fairlead.cli.flags.clap import Flag, FlagError, Parsed, parse, usage
from fairlead.cli.flags.clap_values import ADDRESS, EVERYWHERE, FILE, MAYBE, TEXT, one_of
from fairlead.contracts.environments.flags import CONTRACT, LOG_FORMATS

if TYPE_CHECKING:
    from fairlead.engine.options import OperatorOptions

PROCESS = "orchestratord"
PREFIX = "ORCHESTRATORD_"
LEASE = "orchestratord"

METRICS_ADDRESS = Flag(
    "metrics-listen-address", ADDRESS, (EVERYWHERE, 3100), "Address of the HTTP server with /metrics."
)
IDENTITY = Flag("leader-election-identity", MAYBE, None, "Who holds the Lease; else HOSTNAME, else a random name.")
LOG_FILTER = Flag("log-filter", TEXT, "", "Level of the logs; wins over --startup-log-filter.")
STARTUP_FILTER = Flag(
    "startup-log-filter", TEXT, "info", "Level of the logs, or levels by target: warn,mz_orchestratord=debug."
)
LOG_FORMAT = Flag("log-format", one_of(LOG_FORMATS), "text", "Form of logs: text or json.")
KUBECONFIG = Flag("kubeconfig", FILE, "", "Kubeconfig to run with outside of a cluster; this program's own.")
CONTEXT = Flag("context", TEXT, "", "Context of the kubeconfig; this program's own.")

FLAGS: tuple[Flag[Any], ...] = (
    *CONTRACT,
    METRICS_ADDRESS,
    IDENTITY,
    LOG_FILTER,
    STARTUP_FILTER,
    LOG_FORMAT,
    KUBECONFIG,
    CONTEXT,
)

LEVELS = {"trace": "debug", "debug": "debug", "info": "info", "warn": "warn", "error": "error", "off": "error"}
TARGETS = (PROCESS, f"mz_{PROCESS}")


def main(arguments: Sequence[str] | None = None, variables: Mapping[str, str] = os.environ) -> int:
    """Runs the operator until it is told to stop; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if told := _told(words):
        with suppress(BrokenPipeError):  # a reader that has seen enough does not change the code
            print(told)
            sys.stdout.flush()
        return exits.OK
    try:
        options = options_of(parse(PROCESS, FLAGS, words, variables, PREFIX), variables)
    except FlagError as error:
        print(f"{PROCESS}: {error}", file=sys.stderr)
        return exits.USAGE
    from fairlead.cli.commands.operator import operate

    return operate(options)


def _told(words: Sequence[str]) -> str:
    if "--help" in words or "-h" in words:
        return usage(PROCESS, FLAGS, PREFIX)
    if "--version" in words or "-V" in words:
        from fairlead import __version__

        return f"{PROCESS} {__version__}"
    return ""


def options_of(given: Parsed, variables: Mapping[str, str]) -> OperatorOptions:
    """What the flags come down to; raises FlagError with one sentence that says what to change."""
    from fairlead.contracts import contract
    from fairlead.contracts.environments.options import conversion_of, settings_of
    from fairlead.contracts.environments.settings import EnvironmentsOptions
    from fairlead.engine.options import OperatorOptions, PartOptions

    host, port = given[METRICS_ADDRESS]
    settings = EnvironmentsOptions(settings=settings_of(given), conversion=conversion_of(given))
    return OperatorOptions(
        process=PROCESS,
        parts=(PartOptions(contract("environments"), settings),),
        log_level=level_of(given),
        log_format="json" if given[LOG_FORMAT] == "json" else "logfmt",
        server_host=host,
        server_port=port,
        config_file=given[KUBECONFIG],
        context=given[CONTEXT],
        lease=LEASE,
        identity=given[IDENTITY] or variables.get("HOSTNAME") or _random(),
    )


def level_of(given: Parsed) -> str:
    """The level for this program of `info` or `warn,mz_orchestratord=trace`; the last directive of a kind counts."""
    flag = LOG_FILTER if given[LOG_FILTER] else STARTUP_FILTER
    general, own = "", ""
    for directive in filter(None, (part.strip() for part in given[flag].split(","))):
        target, equals, word = directive.partition("=")
        level = LEVELS.get((word if equals else target).lower())
        if level is None:
            raise FlagError(
                f'{given.place(flag)} holds "{directive}": write a level (trace, debug, info, warn, error, off), or'
                " target=level, separated by commas"
            )
        if not equals:
            general = level
        elif target.partition("::")[0] in TARGETS:
            own = level
    return own or general or "info"


def _random() -> str:
    import uuid

    return f"{PROCESS}-{uuid.uuid4()}"


if __name__ == "__main__":
    sys.exit(main())
