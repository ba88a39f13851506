"""The chart of environments through the real Helm, and what the program makes of it."""

from __future__ import annotations

from typing import Any

from fairlead.cli.flags.clap import parse
from fairlead.contracts import chart_of
from fairlead.contracts.environments.options import PROGRAM, options_of
from fairlead.contracts.environments.settings import Settings
from fairlead.engine.charts import Object
from fairlead.engine.options import OperatorOptions
from tests.contracts.zones.install import helm
from tests.operator_parts import environments_options

CHART = chart_of("environments")
NAME = "materialize-operator"
NAMESPACE = "materialize"
CERT_MANAGER = {("Issuer", f"{NAME}-self-signed"), ("Issuer", f"{NAME}-ca"), ("Certificate", f"{NAME}-ca")} | {
    ("Certificate", f"{NAME}-cert")
}
AFFINITY = {"nodeAffinity": {"a": "b"}}
TOLERATION = {"key": "a", "operator": "Exists"}

Rendered = dict[tuple[str, str], Object]


def render(values: dict[str, Any] | None = None, release: str = NAME) -> Rendered:
    return helm.render(values, release=release, namespace=NAMESPACE, chart=CHART)


def nested(path: str, value: object) -> dict[str, Any]:
    """`a.b` and 1 as {"a": {"b": 1}}."""
    for key in reversed(path.split(".")):
        value = {key: value}
    assert isinstance(value, dict)
    return value


def words(rendered: Rendered) -> list[str]:
    found: list[str] = container(rendered)["args"]
    return found


def pod(rendered: Rendered) -> dict[str, Any]:
    (deployment,) = [one for (kind, _), one in rendered.items() if kind == "Deployment"]
    spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return spec


def container(rendered: Rendered) -> dict[str, Any]:
    (one,) = pod(rendered)["containers"]
    assert isinstance(one, dict)
    return one


def options(rendered: Rendered) -> OperatorOptions:
    """What the program makes of the arguments that the chart gives it."""
    return options_of(parse(PROGRAM.name, PROGRAM.flags, words(rendered), {}, "ORCHESTRATORD_"), {})


def settings(rendered: Rendered) -> Settings:
    return environments_options(options(rendered)).settings
