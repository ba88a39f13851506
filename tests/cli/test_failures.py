"""Whatever the cluster does, a command answers with one sentence and no traceback."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest
import yaml

from fairlead.cli import exits
from fairlead.cli.failures import first_of
from fairlead.cli.main import main
from kubeloop.errors import KubeError, TransportError
from tests.cli.worlds import World, kubeconfig_of, served

COMMANDS = pytest.mark.parametrize(
    "words",
    [["get"], ["explain", "ingester"], ["watch", "--timeout=20s"], ["pause", "ingester"], ["history", "ingester"]],
    ids=lambda words: words[0],
)

FORBIDDEN = (
    'statefulsets.apps is forbidden: User "jane" cannot list resource "statefulsets" in API group "apps"'
    ' in the namespace "test"'
)


def refused(words: list[str], folder: Path, status: int, reason: str, message: str) -> int:
    world = World()
    world.refuse(status, reason, message)
    with served(world, folder) as server:
        return main([*words, "--kubeconfig", server.kubeconfig])


@COMMANDS
def test_an_expired_token_says_to_log_in_again(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = refused(words, tmp_path, 401, "Unauthorized", "Unauthorized")

    (line,) = capsys.readouterr().err.splitlines()
    assert code == exits.ERROR
    assert "does not accept the credentials of context here" in line
    assert "log in again" in line


@COMMANDS
def test_a_missing_right_names_user_verb_resource_and_namespace(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = refused(words, tmp_path, 403, "Forbidden", FORBIDDEN)

    (line,) = capsys.readouterr().err.splitlines()
    assert code == exits.ERROR
    assert 'user "jane" may not list statefulsets.apps in namespace "test": choose another namespace' in line


def test_a_right_missing_in_all_namespaces_says_to_choose_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope'

    refused(["get", "-A"], tmp_path, 403, "Forbidden", message)

    assert 'user "jane" may not list pods in all namespaces: choose one namespace with -n' in capsys.readouterr().err


def test_a_right_missing_for_what_has_no_namespace_says_nothing_of_namespaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = (
        'customresourcedefinitions.apiextensions.k8s.io "w" is forbidden: User "jane" cannot patch resource '
        '"customresourcedefinitions" in API group "apiextensions.k8s.io" at the cluster scope'
    )

    refused(["get"], tmp_path, 403, "Forbidden", message)

    told = capsys.readouterr().err
    assert "may not patch customresourcedefinitions.apiextensions.k8s.io in the cluster: ask for a role" in told
    assert "-n" not in told


def test_a_right_missing_to_list_what_has_no_namespace_does_not_say_to_choose_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = (
        'validatingwebhookconfigurations.admissionregistration.k8s.io is forbidden: User "jane" cannot list resource '
        '"validatingwebhookconfigurations" in API group "admissionregistration.k8s.io" at the cluster scope'
    )

    refused(["uninstall", "-n", "test"], tmp_path, 403, "Forbidden", message)

    (line,) = capsys.readouterr().err.splitlines()
    assert "validatingwebhookconfigurations.admissionregistration.k8s.io in the cluster: ask for a role" in line


def test_a_missing_right_to_impersonate_says_to_leave_out_as(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = (
        'users "max" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope'
    )

    refused(["get", "--as", "max"], tmp_path, 403, "Forbidden", message)

    assert 'user "jane" may not act as other users: leave out --as' in capsys.readouterr().err


def test_a_refusal_in_other_words_is_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(["get"], tmp_path, 403, "Forbidden", "the firewall says no")

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fairlead: not allowed (")
    assert "the firewall says no" in line


@COMMANDS
def test_a_resource_that_is_not_served_is_named(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = refused(words, tmp_path, 404, "NotFound", "the server could not find the requested resource")

    (line,) = capsys.readouterr().err.splitlines()
    assert code == exits.ERROR
    assert "statefulsets" in line or "pods" in line
    assert "does not have it" in line


@COMMANDS
def test_a_server_that_cannot_answer_says_to_try_again(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = refused(words, tmp_path, 500, "InternalError", "etcd has\nno leader")

    (line,) = capsys.readouterr().err.splitlines()
    assert code == exits.ERROR
    assert "etcd has no leader" in line
    assert "try again in a moment" in line


@COMMANDS
def test_a_server_that_is_not_there_is_named(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:  # bound and not listening, so that nobody answers there
        taken.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{taken.getsockname()[1]}"
        config = tmp_path / "config"
        config.write_text(yaml.safe_dump(kubeconfig_of(server)))

        code = main([*words, "--kubeconfig", str(config)])

    (line,) = capsys.readouterr().err.splitlines()
    assert code == exits.ERROR
    assert f"{server} cannot be reached" in line


@COMMANDS
def test_a_kubeconfig_that_is_not_there_is_named_with_what_to_check(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*words, "--kubeconfig", str(tmp_path / "none")])

    (line,) = capsys.readouterr().err.splitlines()
    assert code == exits.ERROR
    assert str(tmp_path / "none") in line
    assert "check the path" in line


def test_an_unknown_context_names_the_known_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config"
    config.write_text(yaml.safe_dump(kubeconfig_of("http://127.0.0.1:1")))

    code = main(["get", "--kubeconfig", str(config), "--context", "there"])

    (line,) = capsys.readouterr().err.splitlines()
    assert code == exits.ERROR
    assert "'there' is not in" in line
    assert line.endswith("are: here")


def test_of_several_failed_tasks_the_first_is_told() -> None:
    error = TransportError("gone")

    assert first_of(ExceptionGroup("tasks", [ExceptionGroup("inner", [error]), KubeError("other")])) is error


def test_our_own_mistakes_among_the_failures_are_not_hidden() -> None:
    group = ExceptionGroup("tasks", [TransportError("gone"), ZeroDivisionError()])

    with pytest.raises(ExceptionGroup) as raised:
        first_of(group)

    assert raised.value.exceptions == (group.exceptions[1],)


def test_output_that_cannot_be_written_is_raised_as_itself() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as raised:
        first_of(ExceptionGroup("tasks", [TransportError("gone"), ExceptionGroup("inner", [full])]))

    assert raised.value is full
