"""Whether conversion works here, for the probes of the webhook's own port.

A replica that would fail the API server's calls must not be among the endpoints that it calls: without a certificate
that is valid now, with one that no definition trusts yet, or with rules that do not work.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.engine.certificates.authority import Publication
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.conversion.review import Rules, works
from fairlead.engine.serving.routes import text
from kubeloop import clock
from kubeloop.calls import Call, Handler, Reply


def healthy(credentials: Credentials, publication: Publication, rules: Rules) -> Handler:
    """Answers 200 and nothing while conversion works, else 503 and a sentence."""
    return _answering(lambda: problem(credentials, publication, rules))


def alive() -> Handler:
    """Answers 200 whenever it is asked."""
    return _answering(lambda: "")


def problem(credentials: Credentials, publication: Publication, rules: Rules) -> str:
    """Why conversion does not work; empty when it does."""
    facts, now = credentials.facts, clock.now()
    if facts.problem:
        return f"the certificate cannot be used: it {facts.problem}"
    if facts.not_before is None or facts.not_after is None or not facts.not_before <= now < facts.not_after:
        return f"the certificate is valid from {facts.not_before} to {facts.not_after} only: renew it"
    if not publication.trusts(credentials.pair):
        return "the authority of the certificate is not yet in the caBundle of every definition"
    return works(rules)


def _answering(problem: Callable[[], str]) -> Handler:
    async def handle(_: Call) -> Reply:
        found = problem()
        return text(503, found) if found else Reply(200)

    return handle
