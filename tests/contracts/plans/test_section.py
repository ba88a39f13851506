"""What `fairlead operator` is told about plans (section 2.13)."""

from __future__ import annotations

import pytest

from fairlead.cli.flags.options import given_in_section
from fairlead.contracts.plans.section import SECTION
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.flags import FlagError, Given
from fairlead.engine.program import CommonOptions


def settings(**section: object) -> PlanSettings:
    given = given_in_section(
        SECTION.flags, {key.replace("_", "-"): value for key, value in section.items()}, "plans", "file"
    )
    made = SECTION.settings(given, CommonOptions())
    assert isinstance(made, PlanSettings)
    return made


def test_nothing_needs_to_be_said() -> None:
    assert SECTION.settings(Given({}), CommonOptions()) == PlanSettings()


def test_a_section_says_what_flags_of_the_program_say() -> None:
    made = settings(
        metrics_server="http://prometheus:9090",
        mesh_provider="istio",
        revision_limit=0,
        application_revision_limit=2,
        system_definition_namespace="defs",
        concurrent_reconciles=8,
        reconcile_timeout="1m",
        slack_url="https://chat.example/hook",
        slack_user="bot",
        slack_channel="rollouts",
        event_webhook="https://events.example/",
        register_kinds=False,
    )

    assert made == PlanSettings(
        metrics_server="http://prometheus:9090",
        mesh_provider="istio",
        revision_limit=0,
        application_revision_limit=2,
        system_namespace="defs",
        concurrent=8,
        reconcile_timeout=60.0,
        slack_url="https://chat.example/hook",
        slack_user="bot",
        slack_channel="rollouts",
        event_webhook="https://events.example/",
        registers_kinds=False,
    )


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ({"revision_limit": -1}, "a whole number of 0 or more"),
        ({"concurrent_reconciles": 0}, "concurrent-reconciles.* is 0: set it to 1 or more"),
        ({"reconcile_timeout": "soon"}, "reconcile-timeout"),
        ({"reconcile_timeout": 3}, "write a duration such as 3s"),
        ({"mesh_provider": "consul"}, 'mesh-provider.* is "consul": set it to istio or linkerd'),
        ({"metrics_server": "prometheus"}, "metrics-server.* write an address with http or https"),
        ({"register_kinds": "yes"}, "write true or false"),
    ],
)
def test_a_value_that_will_not_do_is_told_with_its_place(section: dict[str, object], sentence: str) -> None:
    with pytest.raises(FlagError, match=sentence):
        settings(**section)
