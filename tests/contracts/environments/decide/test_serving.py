"""Balancer and Console speak to environmentd as the generation listens that serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.environments.decide import decide_balancer, decide_console
from fairlead.contracts.environments.decide.objects.listeners import listeners
from fairlead.contracts.environments.decide.seen import Children, CompanionSnapshot
from fairlead.contracts.environments.kinds import (
    LISTENERS_FILE,
    NAME,
    BalancerdAddress,
    CertificateSpec,
    Child,
    CompanionStatus,
    Console,
    ConsoleSpec,
    IssuerRef,
    StaticRouting,
)
from fairlead.contracts.environments.settings import DefaultCertificates, Ports, Settings
from fairlead.core.act import Apply
from fairlead.core.decision import Move
from kubeloop.objects.core import CONFIGMAPS, SERVICES
from tests.contracts.environments.decide.balancing import IDENTIFIED, META, SPEC, answered

ISSUER = CertificateSpec(issuer_ref=IssuerRef("ca"))
WITH_TLS = structs.replace(
    IDENTIFIED,
    spec=structs.replace(
        SPEC, internal_certificate_spec=ISSUER, static_routing=StaticRouting("e", "mzabc-environmentd")
    ),
)
PLAIN = structs.replace(WITH_TLS, spec=structs.replace(WITH_TLS.spec, internal_certificate_spec=None))
BY_DEFAULT = Settings(default_certificates=DefaultCertificates(internal=ISSUER))
CONSOLE = Console(
    META,
    ConsoleSpec(
        console_image_ref="materialize/console:1",
        balancerd=BalancerdAddress("mzabc-balancerd", "e", "http"),
        authenticator_kind="Password",
    ),
    CompanionStatus(resource_id="abc"),
)


def told(kind: str, *, tls: bool, ports: Ports | None = None) -> dict[str, str]:
    file = listeners("materialize/environmentd:v26.0.0", kind, ports or Ports(), tls=tls)
    return {LISTENERS_FILE: msgspec.json.encode(file).decode()}


def an_environment(data: Mapping[int, dict[str, str]], selected: str = "mzabc-environmentd-1") -> Children:
    """Its public Service, and the listeners of its generations."""
    own: dict[str, Any] = {"name": "mzabc-environmentd", "spec": {"selector": {NAME: selected}}}
    files = ({"name": f"mzabc-listeners-{number}", "data": each} for number, each in data.items())
    found = ((SERVICES, own), *((CONFIGMAPS, each) for each in files))
    return {(resource, fields["name"]): a_child(**fields) for resource, fields in found}


def a_child(name: str, **fields: object) -> Child:
    metadata = {"name": name, "namespace": "e", "uid": f"uid-{name}", "resourceVersion": "1"}
    return msgspec.convert({"metadata": metadata, **fields}, Child)


def made(seen: CompanionSnapshot[Any], kind: str) -> Any:
    decide = decide_console if isinstance(seen.own, Console) else decide_balancer
    decision = answered(decide, seen)
    assert isinstance(decision.verdict, Move)
    (body,) = (
        write.body for write in decision.verdict.writes if isinstance(write, Apply) and write.ref.resource.kind == kind
    )
    return msgspec.json.decode(body)


def speaks_tls(seen: CompanionSnapshot[Any]) -> bool:
    (container,) = made(seen, "Deployment")["spec"]["template"]["spec"]["containers"]
    return "--internal-tls" in container["args"]


def asked_at(seen: CompanionSnapshot[Any]) -> tuple[str, str]:
    """The ports of HTTP and SQL at which balancerd looks for environmentd."""
    (container,) = made(seen, "Deployment")["spec"]["template"]["spec"]["containers"]
    flags = ("--https-resolver-template=", "--static-resolver-addr=")
    http, sql = (next(each for each in container["args"] if each.startswith(flag)) for flag in flags)
    return http.rpartition(":")[2], sql.rpartition(":")[2]


def mode_in(seen: CompanionSnapshot[Any]) -> str:
    return str(msgspec.json.decode(made(seen, "ConfigMap")["data"]["app-config.json"])["auth"]["mode"])


def test_a_balancer_speaks_plain_to_what_serves_until_a_generation_with_tls_takes_over() -> None:
    both = {1: told("None", tls=False), 2: told("None", tls=True)}

    before = CompanionSnapshot(own=WITH_TLS, children=an_environment(both))
    after = CompanionSnapshot(own=WITH_TLS, children=an_environment(both, "mzabc-environmentd-2"))

    assert not speaks_tls(before)
    assert speaks_tls(after)


def test_a_balancer_speaks_tls_to_what_serves_until_a_plain_generation_takes_over() -> None:
    both = {1: told("None", tls=True), 2: told("None", tls=False)}

    before = CompanionSnapshot(own=PLAIN, children=an_environment(both))
    after = CompanionSnapshot(own=PLAIN, children=an_environment(both, "mzabc-environmentd-2"))

    assert speaks_tls(before)
    assert not speaks_tls(after)


def test_a_setting_of_the_operator_that_no_generation_has_yet_does_not_cut_users_off() -> None:
    seen = CompanionSnapshot(own=PLAIN, settings=BY_DEFAULT, children=an_environment({1: told("None", tls=False)}))

    assert not speaks_tls(seen)


def test_ports_that_no_generation_listens_on_yet_do_not_cut_users_off() -> None:
    before, now = Ports(sql=5432, http=8443), Settings(ports=Ports(sql=1111, http=2222))
    both = {1: told("None", tls=False, ports=before), 2: told("None", tls=False, ports=now.ports)}

    first = CompanionSnapshot(own=PLAIN, settings=now, children=an_environment(both))
    next_one = CompanionSnapshot(own=PLAIN, settings=now, children=an_environment(both, "mzabc-environmentd-2"))

    assert (asked_at(first), asked_at(next_one)) == (("8443", "5432"), ("2222", "1111"))


def test_a_console_lets_users_sign_in_as_what_serves_lets_them() -> None:
    both = {1: told("None", tls=False), 2: told("Password", tls=False)}

    before = CompanionSnapshot(own=CONSOLE, children=an_environment(both))
    after = CompanionSnapshot(own=CONSOLE, children=an_environment(both, "mzabc-environmentd-2"))

    assert mode_in(before) == "None"
    assert mode_in(after) == "Password"


def test_a_console_says_sasl_where_only_sql_can() -> None:
    seen = CompanionSnapshot(own=CONSOLE, children=an_environment({1: told("Sasl", tls=False)}))

    assert mode_in(seen) == "Sasl"


WITHOUT_PORT = told("None", tls=False)[LISTENERS_FILE].replace(":6875", "")
UNSEEN: dict[str, Children] = {
    "no environment": {},
    "a Service that selects nothing of it": an_environment({1: told("None", tls=False)}, "somebody"),
    "a Service that selects another number": an_environment({1: told("None", tls=False)}, "mzabc-environmentd-01"),
    "no listeners": an_environment({}),
    "listeners without a file": an_environment({1: {}}),
    "listeners of another form": an_environment({1: {LISTENERS_FILE: '{"sql": []}'}}),
    "listeners without a port": an_environment({1: {LISTENERS_FILE: WITHOUT_PORT}}),
}


@pytest.mark.parametrize("children", UNSEEN.values(), ids=UNSEEN)
def test_where_nothing_is_seen_to_serve_it_is_as_it_is_wanted(children: Children) -> None:
    assert speaks_tls(CompanionSnapshot(own=WITH_TLS, children=children))
    assert not speaks_tls(CompanionSnapshot(own=PLAIN, children=children))
    assert mode_in(CompanionSnapshot(own=CONSOLE, children=children)) == "Password"
