"""How commands carry jobs: the terms that their options come down to (section 2.3)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from fairlead.core.audit import AuditLine
from fairlead.engine.command import Usage
from fairlead.engine.driver.request_pace import RequestPace
from fairlead.engine.job_run import RunTerms
from fairlead.engine.progress import ProgressReporter
from kubeloop.client import Client
from kubeloop.records import Records


@contextmanager
def terms_of(
    given: argparse.Namespace, client: Client, records: Records, gate: Callable[[], None] | None = None
) -> Iterator[RunTerms]:
    """Of a command with the options of `options.add_walk`; `--dry-run` and `--audit` where it has them."""
    with audited(getattr(given, "audit", "")) as audit:
        yield RunTerms(
            client=client,
            records=records,
            pace=RequestPace(given.qps, given.burst),
            at_once=given.concurrency,
            dry_run=getattr(given, "dry_run", False),
            gate=gate,
            audit=audit,
            reporter=ProgressReporter(given.progress, sys.stderr),
        )


@contextmanager
def audited(place: str) -> Iterator[Callable[[AuditLine], None]]:
    if not place:
        yield lambda _: None
        return
    if place == "-":
        yield lambda line: print(msgspec.json.encode(line).decode(), file=sys.stderr)
        return
    try:
        file = Path(place).open("ab")  # noqa: SIM115  (closed below, after what is yielded)
    except OSError as error:
        raise Usage(f"--audit: {place} cannot be written: {error.strerror}") from None
    with file:
        yield lambda line: _append(file, line)


def _append(file: BinaryIO, line: AuditLine) -> None:
    file.write(msgspec.json.encode(line) + b"\n")
    file.flush()
