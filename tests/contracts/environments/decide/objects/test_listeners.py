"""Listeners: ports, kinds of authentication, roles and routes, in both forms of the file."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.environments.decide.objects.listeners import listeners, reads_listeners
from fairlead.contracts.environments.settings import Ports

USUAL = Ports()
NEW = "a:v26.32.0-dev.0"
OLD = "a:v26.31.9"


def listening(image: str, kind: str, *, tls: bool = False, ports: Ports = USUAL) -> Any:
    return listeners(image, kind, ports, tls=tls)


@pytest.mark.parametrize(
    ("image", "answer"), [("a:v0.146.9", False), ("a:v0.147.0-dev.0", True), ("a:v26.0.0", True), ("a:latest", True)]
)
def test_listeners_are_read_from_a_file_since_0_147(image: str, answer: bool) -> None:
    assert reads_listeners(image) is answer


@pytest.mark.parametrize(("image", "version"), [(OLD, "0.147.0"), (NEW, "26.32.0"), ("a:latest", "26.32.0")])
def test_the_form_follows_the_image(image: str, version: str) -> None:
    assert listening(image, "None")["version"] == version


@pytest.mark.parametrize(
    ("kind", "sql", "http"),
    [("Password", "Password", "Password"), ("Sasl", "Sasl", "Password"), ("Oidc", "Oidc", "Oidc")],
)
@pytest.mark.parametrize("image", [OLD, NEW])
def test_where_users_log_in_there_is_one_listener_and_one_for_metrics(
    image: str, kind: str, sql: str, http: str
) -> None:
    told = listening(image, kind, tls=True)

    assert told["sql"] == {
        "external": {
            "addr": "0.0.0.0:6875",
            "authenticator_kind": sql,
            "allowed_roles": "NormalAndInternal",
            "enable_tls": True,
        }
    }
    assert list(told["http"]) == ["external", "metrics"]
    assert told["http"]["external"]["authenticator_kind"] == http
    assert told["http"]["external"]["enable_tls"] is True
    assert told["http"]["metrics"]["authenticator_kind"] == "None"
    assert told["http"]["metrics"]["enable_tls"] is False
    assert told["http"]["metrics"]["addr"] == "0.0.0.0:6878"


def test_in_the_first_form_the_roles_of_a_listener_are_those_of_its_routes() -> None:
    told = listening(OLD, "Oidc")

    external, metrics = told["http"]["external"], told["http"]["metrics"]
    assert (external["allowed_roles"], metrics["allowed_roles"]) == ("NormalAndInternal", "NormalAndInternal")
    assert external["routes"] == {
        "base": True,
        "webhook": True,
        "internal": True,
        "metrics": False,
        "profiling": True,
        "mcp_agent": True,
        "mcp_developer": True,
        "console_config": True,
    }
    assert metrics["routes"] == dict.fromkeys(external["routes"], False) | {"metrics": True}


@pytest.mark.parametrize("kind", ["None", "Frontegg"])
def test_without_logins_internal_roles_have_listeners_of_their_own(kind: str) -> None:
    told = listening(NEW, kind, tls=True, ports=Ports(sql=1, http=2, internal_sql=3, internal_http=4))

    off = {"enabled": False}
    normal = {"enabled": True, "allowed_roles": "Normal"}
    both = {"enabled": True, "allowed_roles": "NormalAndInternal"}
    assert told == {
        "version": "26.32.0",
        "sql": {
            "external": {
                "addr": "0.0.0.0:1",
                "authenticator_kind": kind,
                "allowed_roles": "Normal",
                "enable_tls": True,
            },
            "internal": {
                "addr": "0.0.0.0:3",
                "authenticator_kind": "None",
                "allowed_roles": "NormalAndInternal",
                "enable_tls": False,
            },
        },
        "http": {
            "external": {
                "addr": "0.0.0.0:2",
                "authenticator_kind": kind,
                "enable_tls": True,
                "routes": {
                    "base": normal,
                    "webhook": normal,
                    "internal": off,
                    "metrics": off,
                    "profiling": off,
                    "mcp_agent": normal,
                    "mcp_developer": normal,
                    "console_config": normal,
                },
            },
            "internal": {
                "addr": "0.0.0.0:4",
                "authenticator_kind": "None",
                "enable_tls": False,
                "routes": {
                    "base": both,
                    "webhook": both,
                    "internal": both,
                    "metrics": both,
                    "profiling": both,
                    "mcp_agent": both,
                    "mcp_developer": both,
                    "console_config": off,
                },
            },
        },
    }
