"""Metrics over HTTPS, on a port of their own, for those who may read them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from fairlead.engine.certificates.in_memory import InMemory
from fairlead.engine.certificates.secured import Secured
from fairlead.engine.certificates.served import CertificateFiles, Certificates, FromFiles
from fairlead.engine.options import MetricsOptions
from fairlead.engine.process_context import ProcessContext
from fairlead.engine.serving.access_review import AuthorizedHandler
from fairlead.engine.serving.https_server import HttpsServer
from fairlead.engine.serving.probes import showing

TIMEOUT = 10.0
"""Seconds for a request, reviews included."""


def metrics_server(given: MetricsOptions, context: ProcessContext) -> HttpsServer:
    routes = {given.path: AuthorizedHandler(showing(context.metrics), context.client, context.log)}
    secured = Secured(given.port, _certificates(given, context), host=given.host)
    return HttpsServer("metrics", secured, lambda _: nullcontext(routes), TIMEOUT, tls=given.tls)


def _certificates(given: MetricsOptions, context: ProcessContext) -> Certificates:
    """The files are followed where both are there when the process starts."""
    files = CertificateFiles(Path(given.certificate_file), Path(given.key_file))
    if given.certificate_file and files.certificate.exists() and files.key.exists():
        return FromFiles(files, context.log, follows=True)
    return InMemory(context.options.process, context.log)
