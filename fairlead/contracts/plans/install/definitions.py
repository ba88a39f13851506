"""The CustomResourceDefinitions of section 2.1: kinds of rollouts here, those of applications and their helpers beside.

How the operator puts them next to definitions of other releases is not in them.
"""

from __future__ import annotations

from fairlead.contracts.plans.install import application_definitions, helper_definitions
from fairlead.contracts.plans.install.schema import plan, status, trait_spec
from fairlead.contracts.plans.install.whole import AGE, OAM, whole
from fairlead.contracts.plans.kinds import APP_ROLLOUTS, APPLICATION_DEPLOYMENTS, ROLLOUT_TRAITS, ROLLOUTS, Json
from fairlead.core.schema_parts import TEXT, definition, described, object_of

COLUMNS: tuple[Json, ...] = (
    {"name": "TARGET", "type": "integer", "jsonPath": ".status.rolloutTargetSize"},
    {"name": "UPGRADED", "type": "integer", "jsonPath": ".status.upgradedReplicas"},
    {"name": "READY", "type": "integer", "jsonPath": ".status.upgradedReadyReplicas"},
    {"name": "BATCH-STATE", "type": "string", "jsonPath": ".status.batchRollingState"},
    {"name": "ROLLING-STATE", "type": "string", "jsonPath": ".status.rollingState"},
    AGE,
)
"""Of every kind of rollout."""
OLDER_VERSION = "v1alpha2"
"""Of AppRollouts, served beside the stored one."""


def definitions() -> tuple[Json, ...]:
    return (
        rollout_traits(),
        application_deployments(),
        rollouts(),
        app_rollouts(),
        *application_definitions.definitions(),
        *helper_definitions.definitions(),
    )


def rollout_traits() -> Json:
    about = "A change of one workload that reaches its pods in batches."
    return definition(ROLLOUT_TRAITS, whole(about, trait_spec(), status()), {"status": {}}, COLUMNS)


def rollouts() -> Json:
    about = "The change from one revision of a component to another, whose workload is made for it."
    spec = object_of(
        "What is wanted.",
        ("targetRevisionName", "rolloutPlan"),
        targetRevisionName=described(TEXT, "The component revision to go to, a ControllerRevision of this namespace."),
        sourceRevisionName=described(
            TEXT, "The component revision to come from; absent: the one that the last attempt went to."
        ),
        componentName=described(TEXT, "The component that both are revisions of; absent: that of the target."),
        rolloutPlan=plan("How the change reaches the pods."),
    )
    names = {
        "lastTargetRevision": described(TEXT, "The revision that the present attempt goes to."),
        "LastSourceRevision": described(TEXT, "The revision that the present attempt comes from."),
    }
    return definition(ROLLOUTS, whole(about, spec, status(**names)), {"status": {}}, COLUMNS)


def application_deployments() -> Json:
    about = "The change from one Application to another, one component of which is rolled in batches."
    schema = whole(
        about,
        _application_deployment_spec(),
        status(
            lastTargetApplicationName=described(TEXT, "The Application that the present attempt goes to."),
            lastSourceApplicationName=described(TEXT, "The Application that the present attempt comes from."),
            targetAppConfig=described(TEXT, "The ApplicationConfiguration of the target, since verification."),
            sourceAppConfig=described(TEXT, "The ApplicationConfiguration of the source, since verification."),
        ),
    )
    return definition(APPLICATION_DEPLOYMENTS, schema, {"status": {}}, COLUMNS, categories=OAM)


def app_rollouts() -> Json:
    """Both of its versions have one shape."""
    about = "The change from one revision of an Application to another, one component of which is rolled in batches."
    spec = object_of(
        "What is wanted.",
        ("targetAppRevisionName", "rolloutPlan"),
        targetAppRevisionName=described(TEXT, "The ApplicationRevision to go to, of the same namespace."),
        sourceAppRevisionName=described(
            TEXT, "The ApplicationRevision to come from; absent only where nothing was deployed before."
        ),
        componentList=described(
            {"type": "array", "items": TEXT},
            "The component that is rolled, one at most; absent: the only one that both revisions have.",
        ),
        **_plan(),
    )
    names = {
        "lastTargetAppRevision": described(TEXT, "The ApplicationRevision that the present attempt goes to."),
        "LastSourceAppRevision": described(TEXT, "The ApplicationRevision that the present attempt comes from."),
    }
    made = definition(
        APP_ROLLOUTS, whole(about, spec, status(**names)), {"status": {}}, COLUMNS, ("approllout",), categories=OAM
    )
    (stored,) = made["spec"]["versions"]
    older = {**stored, "name": OLDER_VERSION, "storage": False}
    return {**made, "spec": {**made["spec"], "versions": [older, stored]}}


def _plan() -> dict[str, Json]:
    return {
        "rolloutPlan": plan("How the change reaches the pods."),
        "revertOnDelete": described({"type": "boolean"}, "The same as the field of this name in rolloutPlan."),
    }


def _application_deployment_spec() -> Json:
    return object_of(
        "What is wanted.",
        ("targetApplicationName", "rolloutPlan"),
        targetApplicationName=described(TEXT, "The Application with the new version, of the same namespace."),
        sourceApplicationName=described(
            TEXT, "The Application with the old version; absent only where nothing was deployed before."
        ),
        componentList=described(
            {"type": "array", "items": TEXT},
            "The component that is rolled, one at most; absent: the only one that both Applications have.",
        ),
        **_plan(),
    )
