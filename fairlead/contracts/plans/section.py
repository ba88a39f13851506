"""What `fairlead operator` is told about plans, in the section of its file."""

from __future__ import annotations

from fairlead.contracts.plans.flags import USUAL
from fairlead.contracts.plans.problems import problems
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.flag_kinds import COUNT
from fairlead.core.flags import Flag, FlagError, Given
from fairlead.core.option_kinds import DURATION, SWITCH, option, seconds_of
from fairlead.engine.program import CommonOptions, Section

_URL = option("URL")

METRICS_SERVER = Flag("metrics-server", _URL, "", "Prometheus that built-in metrics are read from")
MESH = Flag("mesh-provider", option("NAME"), "", "whose series built-in metrics are: istio or linkerd")
REVISION_LIMIT = Flag("revision-limit", COUNT, USUAL.revision_limit, "revisions of a component that are kept")
APPLICATION_LIMIT = Flag(
    "application-revision-limit",
    COUNT,
    USUAL.application_revision_limit,
    "inactive ApplicationConfigurations that are kept",
)
CONCURRENT = Flag("concurrent-reconciles", COUNT, USUAL.concurrent, "rollouts that are worked on at once")
SYSTEM_NAMESPACE = Flag(
    "system-definition-namespace", option("NAME"), USUAL.system_namespace, "namespace of common definitions"
)
RECONCILE_TIMEOUT = Flag("reconcile-timeout", DURATION, "3m", "how long a pass may take")
SLACK_URL = Flag("slack-url", _URL, "", "chat that is told of every rollout")
SLACK_USER = Flag("slack-user", option("NAME"), USUAL.slack_user, "who messages to it come from")
SLACK_CHANNEL = Flag("slack-channel", option("NAME"), USUAL.slack_channel, "channel that messages to it go to")
EVENT_WEBHOOK = Flag("event-webhook", _URL, "", "address that is told of every rollout")
REGISTERS = Flag("register-kinds", SWITCH, True, "register the kinds of plans at the start")


def _settings(given: Given, _: CommonOptions) -> PlanSettings:
    try:
        timeout = seconds_of(given.place(RECONCILE_TIMEOUT), given[RECONCILE_TIMEOUT], positive=True)
    except ValueError as error:
        raise FlagError(str(error)) from error
    made = PlanSettings(
        metrics_server=given[METRICS_SERVER],
        mesh_provider=given[MESH],
        revision_limit=given[REVISION_LIMIT] or 0,
        application_revision_limit=given[APPLICATION_LIMIT] or 0,
        system_namespace=given[SYSTEM_NAMESPACE],
        concurrent=given[CONCURRENT] or 0,
        reconcile_timeout=timeout,
        slack_url=given[SLACK_URL],
        slack_user=given[SLACK_USER],
        slack_channel=given[SLACK_CHANNEL],
        event_webhook=given[EVENT_WEBHOOK],
        registers_kinds=given[REGISTERS],
    )
    places = {each.name: given.place(each) for each in SECTION.flags}
    if problem := next(problems(made, places.__getitem__), None):
        raise FlagError(problem)
    return made


SECTION = Section(
    flags=(
        METRICS_SERVER,
        MESH,
        REVISION_LIMIT,
        APPLICATION_LIMIT,
        CONCURRENT,
        SYSTEM_NAMESPACE,
        RECONCILE_TIMEOUT,
        SLACK_URL,
        SLACK_USER,
        SLACK_CHANNEL,
        EVENT_WEBHOOK,
        REGISTERS,
    ),
    settings=_settings,
)
