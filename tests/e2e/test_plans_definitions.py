"""The kinds of rollout plans on a cluster: the server takes their definitions, and keeps all that an object holds."""

from __future__ import annotations

from functools import partial

from fairlead.contracts.plans.install.definitions import definitions
from fairlead.contracts.plans.kinds import (
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    ROLLOUT_TRAITS,
    WORKLOAD_DEFINITIONS,
    RolloutPlan,
    RolloutStatus,
    TraitSpec,
)
from tests.contracts.plans.filled import filled
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define, put

with_plans = partial(everywhere, definitions=definitions)
WORKLOAD: Tree = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}},
}
FREE: Tree = {"image": "web:1", "env": [{"name": "A", "value": "1"}], "deep": {"more": [1, 2.5, True, None]}}
OTHERS: tuple[Tree, ...] = (
    {
        "apiVersion": APPLICATIONS.api_version,
        "kind": APPLICATIONS.kind,
        "metadata": {"name": "shop"},
        "spec": {
            "components": [
                {
                    "name": "web",
                    "type": "webservice",
                    "settings": FREE,
                    "traits": [{"name": "scaler", "properties": FREE}],
                    "scopes": {"healthscopes.core.oam.dev": "all"},
                }
            ],
            "rolloutPlan": {"numBatches": 3},
        },
    },
    {
        "apiVersion": COMPONENTS.api_version,
        "kind": COMPONENTS.kind,
        "metadata": {"name": "web"},
        "spec": {
            "workload": WORKLOAD,
            "parameters": [{"name": "image", "fieldPaths": ["spec.image"], "required": True}],
        },
    },
    {
        "apiVersion": CONFIGURATIONS.api_version,
        "kind": CONFIGURATIONS.kind,
        "metadata": {"name": "shop"},
        "spec": {
            "components": [
                {
                    "componentName": "web",
                    "parameterValues": [{"name": "image", "value": "web:2"}, {"name": "size", "value": 3}],
                    "traits": [{"trait": {**WORKLOAD, "kind": "Widget"}, "dataOutputs": [{"name": "address"}]}],
                    "scopes": [{"scopeRef": {"apiVersion": "v1", "kind": "Scope", "name": "all"}}],
                }
            ]
        },
    },
    {
        "apiVersion": WORKLOAD_DEFINITIONS.api_version,
        "kind": WORKLOAD_DEFINITIONS.kind,
        "metadata": {"name": "widget"},
        "spec": {
            "definitionRef": {"name": "widgets.example.test", "version": "v1"},
            "schematic": {
                "kube": {"template": WORKLOAD, "parameters": [{"name": "image", "type": "string"}]},
                "cue": {"template": "output: {}"},
            },
            "extension": {"rollout": {"style": "pair", "replicasPath": "spec.replicas"}},
            "podSpecPath": "spec.template.spec",
        },
    },
    {
        "apiVersion": "core.oam.dev/v1alpha2",
        "kind": "TraitDefinition",
        "metadata": {"name": "rollout"},
        "spec": {
            "definitionRef": {"name": "rollouttraits.standard.oam.dev"},
            "revisionEnabled": True,
            "workloadRefPath": "spec.targetRef",
            "appliesToWorkloads": ["*"],
            "conflictsWith": ["scaler", "labelSelector:trait.oam.dev/scaling=true"],
            "status": {"customStatus": "message: x"},
        },
    },
    {
        "apiVersion": "standard.oam.dev/v1alpha1",
        "kind": "MetricTemplate",
        "metadata": {"name": "errors"},
        "spec": {
            "provider": {
                "type": "prometheus",
                "address": "http://prometheus.monitoring:9090",
                "headers": {"X-Scope-OrgID": ["one"]},
                "secretRef": {"name": "prometheus"},
                "insecureSkipVerify": True,
            },
            "query": 'sum(rate(errors{namespace="{{ namespace }}"}[{{ interval }}]))',
        },
    },
    {
        "apiVersion": "standard.oam.dev/v1alpha1",
        "kind": "AlertProvider",
        "metadata": {"name": "chat"},
        "spec": {
            "type": "slack",
            "address": "https://chat.example/hook",
            "channel": "general",
            "username": "fairlead",
            "proxy": "http://proxy.example:3128",
            "secretRef": {"name": "chat"},
        },
    },
)


@with_plans(controllers=False)
async def test_a_rollout_trait_comes_back_with_every_field(site: Site) -> None:
    await define(site, *definitions())
    spec, status = filled(TraitSpec), filled(RolloutStatus)

    made = await put(
        site,
        {
            "apiVersion": ROLLOUT_TRAITS.api_version,
            "kind": ROLLOUT_TRAITS.kind,
            "metadata": {"name": "roll"},
            "spec": spec,
        },
    )
    written = await site.write_status(ROLLOUT_TRAITS, "roll", status)

    assert made["spec"] == spec
    assert written["spec"] == spec
    assert written["status"] == status


@with_plans(controllers=False)
async def test_an_application_deployment_comes_back_with_every_field(site: Site) -> None:
    await define(site, *definitions())
    spec = {
        "targetApplicationName": "shop-v2",
        "sourceApplicationName": "shop-v1",
        "componentList": ["web"],
        "rolloutPlan": filled(RolloutPlan),
        "revertOnDelete": True,
    }
    status = {
        **filled(RolloutStatus),
        "lastTargetApplicationName": "shop-v2",
        "lastSourceApplicationName": "shop-v1",
        "targetAppConfig": "shop-v2",
        "sourceAppConfig": "shop-v1",
    }

    made = await site.create(APPLICATION_DEPLOYMENTS, {"metadata": {"name": "roll"}, "spec": spec})
    written = await site.write_status(APPLICATION_DEPLOYMENTS, "roll", status)

    assert made["spec"] == spec
    assert written["status"] == status


@with_plans(controllers=False)
async def test_applications_and_helpers_keep_what_nobody_here_reads(site: Site) -> None:
    await define(site, *definitions())

    for one in OTHERS:
        made = await put(site, one)

        assert made["spec"] == one["spec"], one["kind"]


@with_plans(controllers=False)
async def test_the_server_finds_nothing_wrong_with_the_definitions(site: Site) -> None:
    """No condition tells of a schema that is not structural, and the names are taken."""
    await define(site, *definitions())
    await site.history.follow(CUSTOM_RESOURCES)

    for definition in definitions():
        name = definition["metadata"]["name"]
        found = site.history.objects(CUSTOM_RESOURCES)[name]
        states = {each["type"]: each["status"] for each in found["status"]["conditions"]}
        assert states == {"NamesAccepted": "True", "Established": "True"}, name
