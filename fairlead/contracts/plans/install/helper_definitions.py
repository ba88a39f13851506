"""The definitions of MetricTemplates and AlertProviders (sections 2.5 and 3.12), with the fields of flagger.app's."""

from __future__ import annotations

from fairlead.contracts.plans.install.whole import AGE, BOOLEAN, whole
from fairlead.contracts.plans.kinds import ALERT_PROVIDERS, METRIC_TEMPLATES, Json
from fairlead.core.schema_parts import TEXT, definition, described, object_of

_TYPE: Json = {"name": "TYPE", "type": "string"}
ALERT_TYPES = ("slack", "webhook", "msteams", "discord", "rocket")
METRIC_TYPES = ("prometheus",)


def definitions() -> tuple[Json, ...]:
    return metric_templates(), alert_providers()


def metric_templates() -> Json:
    headers: Json = {"type": "object", "additionalProperties": {"type": "array", "items": TEXT}}
    provider = object_of(
        "Who is asked.",
        ("type",),
        type=described(TEXT, f"Which protocol it speaks: {' or '.join(METRIC_TYPES)}."),
        address=described(TEXT, "Its address, with http or https."),
        headers=described(headers, "Headers that are sent along."),
        secretRef=_secret("A Secret with the key token, or with username and password."),
        insecureSkipVerify=described(BOOLEAN, "Whether its certificate is taken as it is."),
    )
    spec = object_of(
        "What is wanted.",
        ("provider", "query"),
        provider=provider,
        query=described(
            TEXT, "What is asked, with placeholders in double braces: name, namespace, target, interval and more."
        ),
    )
    about = "How a metric is measured, for rollouts to check."
    columns = ({**_TYPE, "jsonPath": ".spec.provider.type"}, AGE)
    return definition(METRIC_TEMPLATES, whole(about, spec), {}, columns, ("mt",))


def alert_providers() -> Json:
    spec = object_of(
        "What is wanted.",
        ("type",),
        type=described(TEXT, f"What takes the message: {', '.join(ALERT_TYPES)}."),
        address=described(TEXT, "Where it is sent; absent: the Secret has it."),
        channel=described(TEXT, "The channel that is written to."),
        username=described(TEXT, "Who it seems to come from."),
        proxy=described(TEXT, "The proxy that it is sent through."),
        secretRef=_secret("A Secret with the key address, token or both."),
    )
    columns = ({**_TYPE, "jsonPath": ".spec.type"}, AGE)
    return definition(ALERT_PROVIDERS, whole("Where rollouts tell what happens.", spec), {}, columns, ("ap",))


def _secret(about: str) -> Json:
    return object_of(about, ("name",), name=described(TEXT, "Its name, in the namespace of this object."))
