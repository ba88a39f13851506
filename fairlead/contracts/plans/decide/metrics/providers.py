"""Whom a metric is asked of: the operator's own Prometheus, or the one of a MetricTemplate.

A template is read live, so that one which is corrected counts from the next look on. Its headers come sealed, and its
Secret is read only for the names of its keys: what they hold is put in when a query is sent. Whatever is wrong with a
template is waited for, because it is not the rollout's own.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide.metrics.built_in import query_of
from fairlead.contracts.plans.decide.metrics.placeholders import Unfillable, filled, values_of, window
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.decide.turns import Pass
from fairlead.contracts.plans.kinds import (
    FLAGGER_GROUP,
    FLAGGER_METRIC_TEMPLATES,
    METRIC_TEMPLATES,
    CanaryMetric,
    NamedReference,
)
from fairlead.core.ask import Answer, Ask, Bad, Credential, Need, Read, ReadSecret
from fairlead.core.prometheus import QueryFailed, address, query_call
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.sealed import Sealed

PROMETHEUS = "prometheus"
TIMEOUT = 5.0
"""Seconds (R-30)."""
SERVES_FOR = 4.0
"""Seconds for which an answer serves whoever makes the same look: less than until one that failed is tried again."""
ONLINE = "vector(1)"
TOKEN, USERNAME, PASSWORD = "token", "username", "password"
_HEADERS = "spec.provider.headers"


class _Provider(Struct, frozen=True, rename="camel"):
    type: str = ""
    address: str = ""
    secret_ref: NamedReference | None = None
    insecure_skip_verify: bool = False


class _Template(Struct, frozen=True):
    provider: _Provider = _Provider()
    query: str = ""


class QuerySource(Struct, frozen=True):
    """A Prometheus that can be asked, and the query."""

    address: str
    query: str
    credential: Credential | None = None
    headers: Sealed | None = None
    verified: bool = True

    def question(self, subject: str) -> Ask:
        """`subject` tells this look from others, which an answer to it is no answer to."""
        call = replace(
            query_call(self.address, " ".join(self.query.split()), subject=subject),
            credential=self.credential,
            sealed_headers=self.headers,
            verified=self.verified,
        )
        return Ask(call, timeout=TIMEOUT, max_age=SERVES_FOR, is_expected_to_fail=True)


def source_of(metric: CanaryMetric, given: Pass) -> QuerySource | Need | QueryFailed:
    if metric.template_ref is None:
        return _built_in(metric, given)
    found = _template(metric, given)
    if not isinstance(found, tuple):
        return found
    template, headers, ref = found
    provider, named = template.provider, _named(ref)
    if provider.type not in ("", PROMETHEUS):
        return QueryFailed(f"{named} has the provider {provider.type}: only {PROMETHEUS} is served")
    try:
        source = QuerySource(
            address(provider.address), filled(template.query, values_of(metric, given)), headers=headers
        )
    except ValueError as error:
        return QueryFailed(f"provider.address of {named} {error}")
    except Unfillable as error:
        return QueryFailed(f"the query of {named}: {error}")
    if not template.query.strip():
        return QueryFailed(f"{named} has no query")
    credential = _credential(provider, ref, given)
    if isinstance(credential, Need | QueryFailed):
        return credential
    return replace(source, credential=credential, verified=not provider.insecure_skip_verify)


def _built_in(metric: CanaryMetric, given: Pass) -> QuerySource | QueryFailed:
    settings, target = given.seen.settings, given.found.attempt.target_ref
    if not settings.metrics_server:
        return QueryFailed(unserved_text(metric))
    namespace = given.seen.rollout.metadata.namespace
    try:
        at = address(settings.metrics_server)
    except ValueError as error:
        return QueryFailed(f"--metrics-server {error}")
    query = query_of(metric.name, settings.mesh_provider, namespace, target.kind, target.name, window(metric))
    return QuerySource(at, query)


def unserved_text(metric: CanaryMetric) -> str:
    return (
        f"the metric {metric.name} is read from --metrics-server, and this operator has none: "
        "start it with one, or give templateRef"
    )


def _template(metric: CanaryMetric, given: Pass) -> tuple[_Template, Sealed | None, Ref] | Need | QueryFailed:
    reference = metric.template_ref
    if reference is None:
        raise ValueError("a metric without a template is built in")
    resource = FLAGGER_METRIC_TEMPLATES if reference.group == FLAGGER_GROUP else METRIC_TEMPLATES
    ref = Ref(resource, reference.namespace or given.seen.rollout.metadata.namespace, reference.name)
    answer = _answered(Ask(Read(ref, sealed=_HEADERS)), given)
    if isinstance(answer, Need):
        return answer
    if isinstance(answer, Bad):
        return QueryFailed(_unread(ref, answer))
    tree = msgspec.json.decode(answer.value)
    template, wrong = read(_Template, tree.get("spec"), "spec")
    if wrong:
        return QueryFailed(f"{_named(ref)}: {wrong[0]}")
    return template, next((held for path, held in answer.sealed if path == _HEADERS), None), ref


def _credential(provider: _Provider, template: Ref, given: Pass) -> Credential | Need | QueryFailed | None:
    """The token goes before the password, where a Secret has both."""
    if provider.secret_ref is None or not provider.secret_ref.name:
        return None
    secret = Ref(SECRETS, template.namespace, provider.secret_ref.name)
    answer = _answered(Ask(ReadSecret(secret)), given)
    if isinstance(answer, Need):
        return answer
    if isinstance(answer, Bad):
        return QueryFailed(_unread(secret, answer))
    keys = {key for key, _ in answer.sealed}
    if TOKEN in keys:
        return Credential(secret, TOKEN)
    if {USERNAME, PASSWORD} <= keys:
        return Credential(secret, PASSWORD, username_key=USERNAME)
    return QueryFailed(f"{_named(secret)} has neither {TOKEN}, nor {USERNAME} and {PASSWORD}")


def _answered(question: Ask, given: Pass) -> Answer | Need:
    stages = given.seen.answers.lacking((question,))
    return Need(stages) if stages else given.seen.answers[question]


def _unread(ref: Ref, answer: Bad) -> str:
    if answer.kind == "absent":
        return f"{_named(ref)} is not there"
    return f"{_named(ref)} cannot be read: {answer.text or answer.kind}"


def _named(ref: Ref) -> str:
    return f"the {ref.resource.kind} {ref.namespace}/{ref.name}"
