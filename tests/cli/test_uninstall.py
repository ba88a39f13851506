"""`fairlead uninstall` before it touches a cluster: what it shows, whom it asks, what it says when it stops."""

from __future__ import annotations

import asyncio
import io
import json
import signal
from typing import Any, cast

import pytest

from fairlead.cli import exits, termination
from fairlead.cli.commands import uninstall
from fairlead.cli.commands.uninstall import document, shown, stopped
from fairlead.cli.main import main
from fairlead.cli.removal import Item, Removal, remove
from kubeloop.errors import Forbidden
from kubeloop.objects.meta import Ref, Resource

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
DEPLOYMENT = Item(Ref(DEPLOYMENTS, "mimir", "rollout-operator", "uid-1"), "fairlead")
ROLE = Item(Ref(ROLES, "mimir", "rollout-operator", "uid-2"), "fairlead")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_objects_are_shown_in_the_order_in_which_they_go() -> None:
    text = shown([DEPLOYMENT, ROLE], "zones", "mimir", kinds=False)

    assert text.splitlines() == [
        "To be removed, in this order, of rollout-operator for namespace mimir:",
        "  Deployment/rollout-operator",
        "  Role/rollout-operator",
        "The kinds and their objects stay; --crds removes them too.",
    ]


def test_what_stands_for_data_is_said_to_stay() -> None:
    text = shown([DEPLOYMENT], "environments", "mz", kinds=False)

    assert text.splitlines()[-1] == "The kinds, their objects and all Secrets stay."


def test_who_installed_with_helm_is_told_of_its_record() -> None:
    by_helm = Item(DEPLOYMENT.ref, "Helm")

    assert "helm uninstall" in shown([by_helm], "zones", "mimir", kinds=True)
    assert "helm uninstall" not in shown([DEPLOYMENT], "zones", "mimir", kinds=True)


@pytest.mark.parametrize(
    ("answer", "agreed"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_only_yes_is_yes(
    answer: str, agreed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))

    assert uninstall._agreed([DEPLOYMENT, ROLE]) is agreed
    assert capsys.readouterr().out == "Remove 2 objects? [y/N] "


def test_nobody_is_asked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

    assert uninstall._agreed([DEPLOYMENT]) is False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_in_the_middle_learns_what_is_left(number: int) -> None:
    class Client:
        calls = 0

        async def call(self, _: object) -> None:
            self.calls += 1
            if self.calls == 2:
                signal.raise_signal(number)
                await asyncio.Event().wait()

    found = []

    async def work() -> int:
        found.append(await remove(cast("Any", Client()), [DEPLOYMENT, ROLE, ROLE]))
        return exits.OK

    termination.run(work())

    (removal,) = found
    assert removal.removed == (DEPLOYMENT,)
    assert stopped(removal) == (
        "interrupted; still there, or not known to be gone: Role/rollout-operator, Role/rollout-operator; run the"
        " command again"
    )
    assert uninstall._code(removal, stopped(removal)) == exits.INTERRUPTED


def test_failure_says_why_and_what_is_left() -> None:
    error = Forbidden(403, "Forbidden", "no", doing="delete roles/rollout-operator in namespace mimir")

    text = stopped(Removal((DEPLOYMENT,), (ROLE,), error))

    assert "delete roles/rollout-operator in namespace mimir" in text
    assert "still there: Role/rollout-operator" in text
    assert "\n" not in text


def test_complete_removal_has_nothing_to_say() -> None:
    assert stopped(Removal((DEPLOYMENT,), ())) == ""


def test_document_tells_what_was_found_removed_and_left() -> None:
    told = json.loads(document("mimir", [DEPLOYMENT, ROLE], Removal((DEPLOYMENT,), (ROLE,))))

    plain = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "mimir",
        "name": "rollout-operator",
        "uid": "uid-1",
        "objects": 0,
    }
    assert told["namespace"] == "mimir"
    assert [one["kind"] for one in told["found"]] == ["Deployment", "Role"]
    assert told["removed"] == [plain]
    assert [one["uid"] for one in told["left"]] == ["uid-2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-A"], "an installation looks after one namespace: name it with -n instead of -A"),
        (["--crds", "--keep-crds"], "not allowed with argument"),
        (["-n", "a", "-n", "b"], "-n is given more than once"),
        (["--part", "flows"], "--part"),
        (["--part", "environments", "--crds"], "the kinds of environments stay, because their objects stand for data"),
    ],
)
def test_mistakes_are_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uninstall", *words]) == exits.USAGE

    printed = capsys.readouterr()
    assert said in printed.err
    assert (printed.out, printed.err.count("\n")) == ("", 1)
