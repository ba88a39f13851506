"""The definitions of Applications and of what they are made of (section 2.8).

Fields that other releases store in their specs and statuses are kept without being read.
"""

from __future__ import annotations

from fairlead.contracts.plans.install.schema import reference
from fairlead.contracts.plans.install.whole import AGE, BOOLEAN, EMBEDDED, FREE, OAM, TEXTS, list_of, whole
from fairlead.contracts.plans.kinds import (
    APPLICATION_REVISIONS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    TRAIT_DEFINITIONS,
    WORKLOAD_DEFINITIONS,
    Json,
)
from fairlead.core.schema_parts import INT64, TEXT, definition, described, object_of
from kubeloop.objects.meta import Resource

_DEFINITION_COLUMNS: tuple[Json, ...] = (
    {"name": "DEFINITION-NAME", "type": "string", "jsonPath": ".spec.definitionRef.name"},
    AGE,
)


def definitions() -> tuple[Json, ...]:
    return (
        applications(),
        application_revisions(),
        components(),
        configurations(),
        workload_definitions(),
        trait_definitions(),
    )


def applications() -> Json:
    trait = _kept(
        "One trait.",
        (),
        name=described(TEXT, "Its TraitDefinition, or one of those that need none."),
        properties=described(FREE, "What it is told."),
    )
    component = _kept(
        "One component.",
        ("name", "type"),
        name=described(TEXT, "Its name, which only it has in this Application."),
        type=described(TEXT, "Its WorkloadDefinition, or one of those that need none."),
        settings=described(FREE, "What it is told."),
        traits=list_of("Its traits.", trait),
    )
    spec = _kept("What is wanted.", ("components",), components=list_of("Its components.", component))
    health = _kept(
        "One component.",
        (),
        name=described(TEXT, "Its name."),
        healthy=described(BOOLEAN, "Whether it is well."),
        message=described(TEXT, "Why it is or is not."),
    )
    status = _kept(
        "What there is.",
        (),
        status=described(TEXT, "The phase: rendering, rollingOut, healthChecking or running."),
        conditions=_conditions(),
        components=list_of("The Components that were made.", reference()),
        services=list_of("How its components are.", health),
        latestRevision=_revision("The newest revision.", revisionHash=described(TEXT, "Identifies its content.")),
    )
    columns = (
        {"name": "PHASE", "type": "string", "jsonPath": ".status.status"},
        {"name": "REVISION", "type": "string", "jsonPath": ".status.latestRevision.name"},
        AGE,
    )
    return _definition(APPLICATIONS, "Components with their traits, deployed as one.", spec, status, columns)


def application_revisions() -> Json:
    definitions_of: Json = {"type": "object", "additionalProperties": FREE}
    spec = _kept(
        "What is kept.",
        ("application",),
        application=described(FREE, "The Application as it was."),
        workloadDefinitions=described(definitions_of, "The WorkloadDefinitions that it named, by name."),
        traitDefinitions=described(definitions_of, "The TraitDefinitions that it named, by name."),
        components=list_of(
            "The Components that it stands for.", _kept("One of them.", (), raw=described(FREE, "The Component."))
        ),
        applicationConfiguration=described(FREE, "The ApplicationConfiguration that it stands for."),
    )
    about = "An Application as it was, with all that it was rendered from."
    return definition(APPLICATION_REVISIONS, whole(about, spec), {}, (AGE,), ("apprev",), OAM)


def components() -> Json:
    parameter = _kept("One parameter.", ("name",), **_parameter())
    spec = _kept(
        "What is wanted.",
        ("workload",),
        workload=described(EMBEDDED, "The workload, whole."),
        parameters=list_of("What an ApplicationConfiguration may put into the workload.", parameter),
    )
    status = _kept(
        "What there is.",
        (),
        observedGeneration=described(INT64, "The generation of the spec that has been acted on."),
        latestRevision=_revision("The newest revision."),
        conditions=_conditions(),
    )
    columns = ({"name": "WORKLOAD-KIND", "type": "string", "jsonPath": ".spec.workload.kind"}, AGE)
    return _definition(COMPONENTS, "A workload that Applications share by its name.", spec, status, columns)


def configurations() -> Json:
    value: Json = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    parameter = _kept(
        "One value.",
        ("name", "value"),
        name=described(TEXT, "The parameter."),
        value=described(value, "What is put in."),
    )
    trait = _kept("One trait.", ("trait",), trait=described(EMBEDDED, "The object of the trait, whole."))
    component = _kept(
        "One component: componentName follows its newest revision, revisionName keeps to one.",
        (),
        componentName=described(TEXT, "The Component."),
        revisionName=described(TEXT, "The component revision."),
        parameterValues=list_of("Values of the component's parameters.", parameter),
        traits=list_of("Its traits.", trait),
    )
    spec = _kept("What is wanted.", ("components",), components=list_of("The components.", component))
    return _definition(
        CONFIGURATIONS,
        "What is made in the cluster for an Application.",
        spec,
        _configuration_status(),
        (AGE,),
        ("appconfig",),
    )


def _configuration_status() -> Json:
    trait = _kept("One trait.", (), traitRef=described(reference(), "The object of the trait."))
    workload = _kept(
        "One component.",
        (),
        componentName=described(TEXT, "The Component."),
        componentRevisionName=described(TEXT, "The component revision."),
        workloadRef=described(reference(), "The workload."),
        traits=list_of("Its traits.", trait),
    )
    history = _kept(
        "One older workload.",
        (),
        revision=described(TEXT, "The component revision."),
        workloadRef=described(reference(), "The workload."),
    )
    return _kept(
        "What there is.",
        (),
        status=described(TEXT, "How it stands."),
        conditions=_conditions(),
        workloads=list_of("What was made.", workload),
        historyWorkloads=list_of("Workloads of earlier revisions that still have pods.", history),
        rollingStatus=described(
            TEXT,
            "How far a rollout of it is: RollingTemplating, RollingTemplated, RollingCompleted or "
            "InactiveAfterRollingCompleted.",
        ),
        observedGeneration=described(INT64, "The generation of the spec that has been acted on."),
    )


def workload_definitions() -> Json:
    spec = _kept(
        "What is wanted.",
        (),
        definitionRef=_definition_ref(),
        schematic=_schematic(),
        extension=described(FREE, "What other programs are told; rollout says how workloads of the kind are rolled."),
    )
    about = "A kind of workload, and what components of that type are told."
    return _definition(WORKLOAD_DEFINITIONS, about, spec, _definition_status(), _DEFINITION_COLUMNS)


def trait_definitions() -> Json:
    spec = _kept(
        "What is wanted.",
        (),
        definitionRef=_definition_ref(),
        revisionEnabled=described(BOOLEAN, "Whether each component revision has a workload of its own."),
        manageWorkload=described(BOOLEAN, "Whether the object of the trait makes the workload itself."),
        workloadRefPath=described(TEXT, "Where in the trait the reference to its workload is, such as spec.targetRef."),
        appliesToWorkloads=described(TEXTS, "Kinds of workloads that it fits; absent: all."),
        conflictsWith=described(TEXTS, "Traits that a component may not have besides."),
        schematic=_schematic(),
        extension=described(FREE, "What other programs are told."),
    )
    about = "A kind of trait, and what traits of that name are told."
    return _definition(TRAIT_DEFINITIONS, about, spec, _definition_status(), _DEFINITION_COLUMNS)


def _definition(
    resource: Resource, about: str, spec: Json, status: Json, columns: tuple[Json, ...], short: tuple[str, ...] = ()
) -> Json:
    return definition(resource, whole(about, spec, status), {"status": {}}, columns, short, OAM)


def _kept(about: str, required: tuple[str, ...], /, **properties: Json) -> Json:
    return {**object_of(about, required, **properties), "x-kubernetes-preserve-unknown-fields": True}


def _definition_ref() -> Json:
    return _kept(
        "The definition of the kind.",
        ("name",),
        name=described(TEXT, "Its name, such as deployments.apps."),
        version=described(TEXT, "The version of the kind that is used."),
    )


def _schematic() -> Json:
    parameter = _kept(
        "One parameter.",
        ("name",),
        type=described(TEXT, "What a value of it is: string, number or boolean."),
        **_parameter(),
    )
    kube = _kept(
        "An object with parameters.",
        ("template",),
        template=described(FREE, "The object."),
        parameters=list_of("What is put into it.", parameter),
    )
    return _kept("What objects are made from.", (), kube=kube)


def _parameter() -> dict[str, Json]:
    return {
        "name": described(TEXT, "Its name."),
        "description": described(TEXT, "What it means."),
        "fieldPaths": described(TEXTS, "Where it is put."),
        "required": described(BOOLEAN, "Whether it must be given."),
    }


def _definition_status() -> Json:
    return _kept("What there is.", (), conditions=_conditions())


def _revision(about: str, **more: Json) -> Json:
    return _kept(
        about,
        ("name", "revision"),
        name=described(TEXT, "Its name."),
        revision=described(INT64, "Its number."),
        **more,
    )


def _conditions() -> Json:
    condition = _kept(
        "One aspect of the state.",
        ("type", "status"),
        type=described(TEXT, "Which aspect."),
        status=described(TEXT, "True, False or Unknown."),
        reason=described(TEXT, "Why, in one word."),
        message=described(TEXT, "Why, in a sentence."),
        lastTransitionTime=described({**TEXT, "format": "date-time"}, "When it came to be as it is."),
        observedGeneration=described(INT64, "The generation of the spec that it was decided from."),
    )
    return list_of("What is to be said of it.", condition)
