"""`fairlead api certs status`: the certificate of the operator's webhooks, and who trusts it (section 3.8)."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from datetime import datetime

from fairlead.contracts.apiversions.certificate_look import look
from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.said import show
from fairlead.contracts.apiversions.decide.certificate_report import CertificateReport, CertificateValidity, TrustReport
from fairlead.contracts.apiversions.kinds import CERTIFICATE_SECRET, HOME
from fairlead.engine.command import Invocation, Subcommand, Usage
from kubeloop import clock
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref

WIDTH, INDENT = 80, 14


def add_secret(parser: argparse.ArgumentParser) -> None:
    about = f"the Secret, in the operator's namespace (-n, default {HOME}); default {CERTIFICATE_SECRET}"
    parser.add_argument("--secret", metavar="NAME", default=CERTIFICATE_SECRET, help=about)


def secret_of(called: Invocation) -> Ref:
    """The Secret that is meant; raises Usage."""
    if len(called.namespaces) > 1:
        raise Usage("an operator is in one namespace: give -n once")
    namespace = next(iter(called.namespaces), HOME)
    return Ref(SECRETS, namespace, called.arguments.secret)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_secret(parser)
    options.add_output(parser)


async def _run(called: Invocation) -> int:
    found = await look(called.client, secret_of(called))
    show(found, called.arguments.output, _text(found, clock.now()))
    return codes.DONE


def _text(found: CertificateReport, now: datetime) -> str:
    lines = [f"Secret {found.secret}"]
    for name, text in _rows(found, now):
        first = f"  {name:<{INDENT - 2}}"
        wrapped = textwrap.wrap(
            text, WIDTH, initial_indent=first, subsequent_indent=" " * INDENT, break_on_hyphens=False
        )
        lines += wrapped or [first.rstrip()]
    return "\n".join(lines)


def _rows(found: CertificateReport, now: datetime) -> Iterator[tuple[str, str]]:
    since = f" since {found.since:%Y-%m-%d %H:%M:%S}" if found.since is not None else ""
    yield "made by", found.made_by
    if found.made_by == "fairlead":
        yield "phase", f"{found.phase}{since}"
    yield "certificate", f"{_ending(found.certificate, now)}; for {', '.join(found.names) or 'no name'}"
    yield "authority", _ending(found.authority, now)
    for each in found.trusted_by:
        yield "trusted by" if each.trusts else "asked by", _trust(each, now)
    if not found.trusted_by:
        yield "trusted by", "nobody: no definition and no webhook configuration names a Service beside the Secret"
    for problem in found.problems:
        yield "problem", problem


def _ending(certificate: CertificateValidity | None, now: datetime) -> str:
    if certificate is None:
        return "none"
    left = certificate.not_after - now
    said = f"{left.days} days left" if left.days > 1 else f"{max(int(left.total_seconds() // 3600), 0)} hours left"
    return f"until {certificate.not_after:%Y-%m-%d %H:%M} UTC, {said}"


def _trust(each: TrustReport, now: datetime) -> str:
    if not each.authorities:
        return f"{each.kind} {each.name}, which has no bundle"
    ends = f"the first until {each.first_end:%Y-%m-%d}" if each.first_end is not None else ""
    ended = " and has ended" if each.first_end is not None and each.first_end <= now else ""
    count = f"{each.authorities} authorit{'y' if each.authorities == 1 else 'ies'}"
    return f"{each.kind} {each.name}: {count}, {ends}{ended}{f'; kept by {each.keeper}' if each.keeper else ''}"


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
