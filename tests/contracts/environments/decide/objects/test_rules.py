"""What holds for objects under one condition each: policies, accounts, pods, companions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.contracts.environments.decide.objects.balancer import balancer, balancer_objects, balancer_trouble
from fairlead.contracts.environments.decide.objects.console import console, console_objects
from fairlead.contracts.environments.decide.objects.environment import environment_objects, environment_trouble
from fairlead.contracts.environments.decide.objects.generation import (
    generation_objects,
    generation_refs,
    public_service,
)
from fairlead.contracts.environments.decide.objects.wanted import Environment, Wanted
from fairlead.contracts.environments.settings import NetworkPolicies, Placement, Ports, Settings
from tests.contracts.environments.decide.objects.samples import (
    AWS,
    HASH,
    ID,
    LOCAL,
    OLD,
    Tree,
    a_balancer,
    a_console,
    all_objects,
    an_environment,
    everything,
    identity,
    labels,
    old,
    the_container,
    the_pod,
    tree,
    trees,
)

PLAIN = Settings()
ROLE_ARN = "eks.amazonaws.com/role-arn"


def statefulset(settings: Settings = PLAIN, image: str = "v26.0.0", **spec: Any) -> Wanted:
    return generation_objects(an_environment(image, **spec), 1, HASH, settings)[3]


SAMPLES = pytest.mark.parametrize(
    ("environment", "settings"), [(an_environment(), LOCAL), (everything(), AWS), (old(), OLD)]
)


@SAMPLES
def test_no_body_holds_a_null_or_an_empty_map_that_it_need_not_hold(
    environment: Environment, settings: Settings
) -> None:
    for wanted in all_objects(environment, 1, settings):
        body = tree(wanted)
        if wanted.resource.kind == "ServiceAccount":
            body["metadata"].pop("annotations")
        assert list(empties(body)) == []


def empties(value: Any, path: str = "") -> Any:
    """Paths of nulls and empty maps; what users said of affinity is theirs."""
    if value is None or value == {}:
        yield path
    elif isinstance(value, dict):
        for key, each in value.items():
            if key != "affinity":
                yield from empties(each, f"{path}.{key}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from empties(each, f"{path}[{index}]")


@SAMPLES
def test_every_object_carries_the_recommended_labels_and_whom_it_belongs_to(
    environment: Environment, settings: Settings
) -> None:
    for wanted in all_objects(environment, 1, settings):
        carried = tree(wanted)["metadata"]["labels"]
        app = carried["app.kubernetes.io/name"]
        assert app in ("environmentd", "balancerd", "console")
        assert labels(app).items() <= carried.items()


@SAMPLES
def test_recommended_labels_select_nothing(environment: Environment, settings: Settings) -> None:
    for wanted in all_objects(environment, 1, settings):
        selector = tree(wanted).get("spec", {}).get("selector", {})
        assert not [key for key in selector.get("matchLabels", selector) if key.startswith("app.kubernetes.io/")]


def test_equal_environments_have_equal_digests() -> None:
    first, second = all_objects(everything(), 1, AWS), all_objects(everything(), 1, AWS)

    assert [each.digest for each in first] == [each.digest for each in second]
    assert len({each.digest for each in first}) == len(first)


@pytest.mark.parametrize(
    ("policies", "names"),
    [
        (NetworkPolicies(), []),
        (NetworkPolicies(internal=True), ["allow-all-within-environment", "allow-orchestratord"]),
        (NetworkPolicies(ingress=True), ["sql-and-http-ingress"]),
        (NetworkPolicies(egress=True), ["sources-and-sinks-egress"]),
    ],
)
def test_each_kind_of_policy_is_switched_on_by_itself(policies: NetworkPolicies, names: list[str]) -> None:
    objects = trees(environment_objects(an_environment(), Settings(network_policies=policies)))

    found = [name for name in objects if name.startswith("NetworkPolicy/")]
    assert found == [f"NetworkPolicy/mz{ID}-{name}" for name in names]


def test_a_policy_for_no_ranges_lets_nothing_through() -> None:
    settings = Settings(network_policies=NetworkPolicies(ingress=True, egress=True))

    objects = trees(environment_objects(an_environment(), settings)) | trees(console_objects(a_console(), settings))

    specs = [each["spec"] for name, each in objects.items() if name.startswith("NetworkPolicy/")]
    assert [each["policyTypes"] for each in specs] == [["Ingress"], ["Egress"], ["Ingress"]]
    assert not [each for each in specs if "ingress" in each or "egress" in each]


def test_policies_name_the_ports_that_are_set() -> None:
    ports = Ports(http=1, internal_http=2, balancerd_http=3, balancerd_sql=4, console_http=5)
    policies = NetworkPolicies(internal=True, ingress=True, ingress_cidrs=("0.0.0.0/0",))
    settings = Settings(network_policies=policies, ports=ports)

    objects = trees(environment_objects(an_environment(), settings)) | trees(console_objects(a_console(), settings))

    def named(policy: str) -> list[int]:
        (rule,) = objects[f"NetworkPolicy/mz{ID}-{policy}"]["spec"]["ingress"]
        return [each["port"] for each in rule["ports"]]

    assert named("allow-orchestratord") == [1, 2]
    assert named("sql-and-http-ingress") == [3, 4]
    assert named("console-ingress") == [5]


@pytest.mark.parametrize(
    ("provider", "own", "annotations"),
    [
        ("aws", None, {ROLE_ARN: "flag"}),
        ("aws", {ROLE_ARN: "own"}, {ROLE_ARN: "own"}),
        ("gcp", None, {}),
        ("gcp", {"a": "b"}, {"a": "b"}),
    ],
)
def test_the_operators_role_is_given_on_aws_to_an_account_without_one(
    provider: str, own: dict[str, str] | None, annotations: Tree
) -> None:
    settings = Settings(cloud_provider=provider, environmentd_iam_role_arn="flag")
    environment = an_environment(service_account_annotations=own)

    objects = trees(environment_objects(environment, settings))

    assert objects["ServiceAccount/m"]["metadata"]["annotations"] == annotations


def test_labels_of_an_account_cannot_hide_whose_it_is() -> None:
    environment = an_environment(service_account_labels={**dict.fromkeys(identity(), "x"), "app": "mine"})

    objects = trees(environment_objects(environment, Settings()))

    assert objects["ServiceAccount/m"]["metadata"]["labels"] == labels(app="environmentd") | {"app": "mine"}


def test_the_labels_of_pods_win_but_not_over_what_they_are_selected_by() -> None:
    own = {"materialize.cloud/name": "x", "materialize.cloud/app": "x", "app": "x"}

    pods = tree(statefulset(pod_labels=own))["spec"]
    balancerd = tree(balancer_objects(a_balancer(podLabels=own), Settings())[-1])["spec"]
    nginx = tree(console_objects(a_console(podLabels=own), Settings())[-1])["spec"]

    assert pods["template"]["metadata"]["labels"]["materialize.cloud/app"] == "x"
    for spec in (pods, balancerd, nginx):
        assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


def test_the_annotations_of_pods_win() -> None:
    own = {"karpenter.sh/do-not-evict": "false", "prometheus.io/scrape": "false"}
    settings = Settings(prometheus_scrape_annotations=True)

    pods = tree(statefulset(settings, pod_annotations=own))["spec"]
    balancerd = tree(balancer_objects(a_balancer(podAnnotations=own), settings)[-1])["spec"]

    for spec in (pods, balancerd):
        assert own.items() <= spec["template"]["metadata"]["annotations"].items()


@pytest.mark.parametrize(
    ("image", "disabled", "mounted"),
    [
        ("v0.139.9", False, False),
        ("v0.140.0-dev.0", False, True),
        ("v0.140.0", True, False),
        ("v0.152.9", True, False),
        ("v0.153.0", True, True),
        ("latest", True, True),
    ],
)
def test_the_license_key_is_mounted_where_it_is_checked(image: str, disabled: bool, mounted: bool) -> None:
    made = statefulset(Settings(disable_license_key_checks=disabled), image)

    names = [each["name"] for each in the_pod(made).get("volumes", [])]
    variables = [each["name"] for each in the_container(made)["env"]]
    assert ("license-key" in names) is mounted
    assert ("MZ_LICENSE_KEY" in variables) is mounted


@pytest.mark.parametrize(("image", "mounted"), [("v26.0.9", False), ("v26.1.0-dev.0", True)])
def test_system_parameters_are_mounted_since_26_1(image: str, mounted: bool) -> None:
    names = [each["name"] for each in the_pod(statefulset(image=image, system_parameter_configmap_name="p"))["volumes"]]

    assert ("system-params" in names) is mounted


@pytest.mark.parametrize("kind", ["Password", "Sasl", "Oidc", "None", "Frontegg"])
def test_the_password_of_the_system_is_referred_to_where_users_log_in(kind: str) -> None:
    variables = [each["name"] for each in the_container(statefulset(authenticator_kind=kind))["env"]]

    assert ("MZ_EXTERNAL_LOGIN_PASSWORD_MZ_SYSTEM" in variables) is (kind in ("Password", "Sasl", "Oidc"))


def test_of_two_variables_of_one_name_the_last_one_stays() -> None:
    extra = ({"name": "AWS_REGION", "value": "own"}, {"name": "X", "value": "1"}, {"name": "X", "value": "2"})

    variables = the_container(statefulset(environmentd_extra_env=extra))["env"]

    assert [(each["name"], each.get("value")) for each in variables] == [
        ("MZ_METADATA_BACKEND_URL", None),
        ("MZ_PERSIST_BLOB_URL", None),
        ("AWS_REGION", "own"),
        ("X", "2"),
        ("MZ_LICENSE_KEY", "/license_key/license_key"),
    ]


@pytest.mark.parametrize(
    ("own", "resources"),
    [(None, {"requests": {"cpu": "1"}}), ({"limits": {"cpu": "2"}}, {"limits": {"cpu": "2"}}), ({}, None)],
)
def test_resources_are_the_objects_else_the_operators(own: Tree | None, resources: Tree | None) -> None:
    default = Placement(default_resources={"requests": {"cpu": "1"}})
    settings = Settings(environmentd=default, balancerd=default, console=default)

    containers = [
        the_container(statefulset(settings, environmentd_resource_requirements=own)),
        the_container(balancer_objects(a_balancer(resourceRequirements=own), settings)[-1]),
        the_container(console_objects(a_console(resourceRequirements=own), settings)[-1]),
    ]

    assert [each.get("resources") for each in containers] == [resources] * 3


@pytest.mark.parametrize(
    ("policy", "pulled"), [("always", "Always"), ("if-not-present", "IfNotPresent"), ("never", "Never")]
)
def test_images_are_pulled_as_the_operator_is_told(policy: Any, pulled: str) -> None:
    settings = Settings(image_pull_policy=policy)

    made = [
        statefulset(settings),
        balancer_objects(a_balancer(), settings)[-1],
        console_objects(a_console(), settings)[-1],
    ]

    assert [the_container(each)["imagePullPolicy"] for each in made] == [pulled] * 3


@pytest.mark.parametrize(
    ("image", "user"), [("v26.32.9", 999), ("v26.33.0-dev.0", 999), ("v26.33.0", 65532), ("latest", 65532)]
)
def test_environmentd_runs_as_the_user_of_its_image(image: str, user: int) -> None:
    context = the_pod(statefulset(image=image))["securityContext"]

    assert context == {"fsGroup": user, "runAsUser": user, "runAsGroup": user}


@pytest.mark.parametrize(("tag", "user"), [("v26.17.9", 999), ("v26.18.0", 65532), ("latest", 65532)])
def test_balancerd_runs_as_the_user_of_its_image(tag: str, user: int) -> None:
    made = balancer_objects(a_balancer(balancerdImageRef=f"materialize/balancerd:{tag}"), Settings())[-1]

    assert the_pod(made)["securityContext"] == {"fsGroup": user, "runAsUser": user, "runAsGroup": user}


@pytest.mark.parametrize(
    ("forced", "annotation", "mark"),
    [
        (None, None, "00000000-0000-0000-0000-000000000000"),
        (None, "x", "00000000-0000-0000-0000-000000000000/x"),
        (None, "", "00000000-0000-0000-0000-000000000000/"),
        ("ABCDEF00111122223333444455556666", None, "abcdef00-1111-2222-3333-444455556666"),
    ],
)
def test_the_statefulset_is_marked_with_what_was_forced(forced: str | None, annotation: str | None, mark: str) -> None:
    spec = {} if forced is None else {"force_rollout": forced}
    environment = an_environment(force_annotation=annotation, **spec)

    made = tree(generation_objects(environment, 1, HASH, Settings())[3])

    assert made["metadata"]["annotations"]["materialize.cloud/force"] == mark


def test_a_generation_is_taken_down_from_its_pods_to_its_listeners() -> None:
    refs = generation_refs("e", ID, 4)

    assert [(each.resource.kind, each.namespace, each.name, each.uid) for each in refs] == [
        ("StatefulSet", "e", f"mz{ID}-environmentd-4", ""),
        ("Service", "e", f"mz{ID}-persist-pubsub-4", ""),
        ("Service", "e", f"mz{ID}-environmentd-4", ""),
        ("ConfigMap", "e", f"mz{ID}-listeners-4", ""),
    ]
    assert {each.ref for each in generation_objects(an_environment(), 4, HASH, Settings())} == set(refs)


def test_services_have_the_ports_that_are_set() -> None:
    ports = Ports(sql=1, http=2, internal_sql=3, internal_http=4, internal_persist_pubsub=5)
    settings = Settings(ports=ports)

    generation, pubsub, _, made = generation_objects(an_environment(), 1, HASH, settings)

    def named(wanted: Wanted) -> Tree:
        return {each["name"]: each["port"] for each in tree(wanted)["spec"]["ports"]}

    four = {"sql": 1, "https": 2, "internal-sql": 3, "internal-http": 4}
    assert named(generation) == named(public_service(an_environment(), 1, settings)) == four
    assert named(pubsub) == {"grpc": 5}
    assert the_container(made)["readinessProbe"]["tcpSocket"] == {"port": 1}


def test_a_name_that_no_label_can_hold_is_refused_with_what_to_do() -> None:
    environment = msgspec.structs.replace(an_environment(), name="m" * 64)

    trouble = environment_trouble(environment, Settings())

    assert trouble == (
        f"The name {'m' * 64} is longer than 63 characters, so its objects cannot be labelled with it: "
        "create the environment again under a shorter name."
    )
    assert environment_trouble(msgspec.structs.replace(environment, name="m" * 63), Settings()) == ""


def test_companions_that_are_switched_off_are_not_asked_for() -> None:
    assert balancer(an_environment(), Settings(create_console=True)) is None
    assert console(an_environment(), Settings(create_balancers=True)) is None


@pytest.mark.parametrize(
    ("running", "tags", "image"),
    [
        ("mz/environmentd:v26.0.0", {}, "mz/console:26.9"),
        ("mz/environmentd:v26.0.0", {"v26.0.0": "25.3"}, "mz/console:25.3"),
        ("mz/environmentd:v26.0.0", {"v26.1.0": "25.3"}, "mz/console:26.9"),
        ("mz/environmentd", {"v26.1.0": "25.3"}, "mz/console:26.9"),
    ],
)
def test_the_consoles_tag_is_the_one_for_the_running_image_else_the_default(
    running: str, tags: dict[str, str], image: str
) -> None:
    settings = Settings(create_console=True, console_image_tags=tags, console_image_tag_default="26.9")

    asked = console(an_environment(running), settings)

    assert asked is not None
    assert tree(asked)["spec"]["consoleImageRef"] == image


def test_empty_maps_of_pods_are_not_handed_on() -> None:
    environment = an_environment(pod_labels={}, pod_annotations={})

    asked = [balancer(environment, LOCAL), console(environment, LOCAL)]

    assert not [each for each in asked if each is None or {"podLabels", "podAnnotations"} & tree(each)["spec"].keys()]


STATIC = {"environmentdNamespace": "e", "environmentdServiceName": "s"}


@pytest.mark.parametrize(
    ("routing", "trouble"),
    [
        ({"staticRouting": STATIC}, ""),
        (
            {"staticRouting": None},
            "The Balancer has no routing: set staticRouting to the environment's namespace and Service.",
        ),
        (
            {"staticRouting": None, "fronteggRouting": {}},
            "The Balancer's fronteggRouting is not implemented: use staticRouting.",
        ),
        (
            {"staticRouting": STATIC, "fronteggRouting": {}},
            "The Balancer has two routings: keep staticRouting and remove fronteggRouting.",
        ),
    ],
)
def test_a_balancer_has_exactly_the_routing_that_works(routing: Tree, trouble: str) -> None:
    assert balancer_trouble(a_balancer(**routing), Settings()) == trouble


def test_building_what_is_in_trouble_or_has_no_status_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="balancer_trouble says why"):
        balancer_objects(a_balancer(staticRouting=None), Settings())
    with pytest.raises(ValueError, match="Balancer m has no resource id yet"):
        balancer_objects(msgspec.structs.replace(a_balancer(), status=None), Settings())


def test_replicas_may_be_none_at_all() -> None:
    assert tree(balancer_objects(a_balancer(replicas=0), Settings())[-1])["spec"]["replicas"] == 0
