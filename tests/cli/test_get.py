"""`fairlead get` against a server over real HTTP."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from fairlead.cli import exits
from fairlead.cli.commands.get import table
from fairlead.cli.main import main
from fairlead.core.progress_deadline import PROGRESS_DEADLINE
from tests.builders import a_zone, pods_of
from tests.cli.worlds import World, served

PATIENT = {PROGRESS_DEADLINE: "100000h"}
A, B = a_zone("a", current="new"), a_zone("b", ready=2, annotations=PATIENT)


def rolling() -> World:
    """Zone a is done; in zone b pod 0 is of the new revision and not ready yet."""
    return World(A, pods_of(A, "new"), B, pods_of(B, "old", _0="notReady new"))


def test_get_shows_each_rollout_with_its_phase_progress_and_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(rolling(), tmp_path) as server:
        code = main(["get", "--kubeconfig", server.kubeconfig])

    title, row = capsys.readouterr().out.splitlines()
    assert code == exits.OK
    assert title.split() == ["PART", "ROLLOUT", "OUTCOME", "PHASE", "DONE", "WAITING", "FOR", "SINCE"]
    assert row.startswith("zones   ingester   waiting   Waiting   3/6 pods ")
    assert "ingester-zone-b: 1 of 1 allowed pods is unavailable" in row
    assert "(and 1 more)" in row


def test_get_all_namespaces_has_a_column_for_them_and_wide_the_revisions_and_zones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(rolling(), tmp_path) as server:
        main(["get", "-A", "-o", "wide", "--kubeconfig", server.kubeconfig])

    title, row = capsys.readouterr().out.splitlines()
    assert title.startswith("NAMESPACE   PART")
    assert title.split()[-3:] == ["FROM", "TO", "LANES"]
    assert row.startswith("test ")
    assert row.endswith("ingester-zone-a=3/3,ingester-zone-b=0/3")


def test_get_in_another_namespace_asks_only_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(rolling(), tmp_path) as server:
        code = main(["get", "-n", "elsewhere", "--kubeconfig", server.kubeconfig])

    captured = capsys.readouterr()
    assert code == exits.OK
    assert captured.out == ""
    assert captured.err == (
        "no StatefulSet with the label rollout-group, no Materialize, no LeaderWorkerSet, no RolloutTrait"
        " and no migration of a CRD in namespace elsewhere:"
        " nothing is rolled there\n"
    )


def test_json_and_yaml_hold_the_same_documents_in_the_order_of_the_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(rolling(), tmp_path) as server:
        main(["get", "-o", "json", "--kubeconfig", server.kubeconfig])
        as_json = json.loads(capsys.readouterr().out)
        main(["get", "-o", "yaml", "--kubeconfig", server.kubeconfig])
        as_yaml = yaml.safe_load(capsys.readouterr().out)

    assert as_json == as_yaml
    assert list(as_json) == ["apiVersion", "kind", "items"]
    assert (as_json["apiVersion"], as_json["kind"]) == ("fairlead.dev/v1alpha1", "RolloutList")
    (document,) = as_json["items"]
    assert list(document)[:2] == ["apiVersion", "kind"]
    assert document["kind"] == "Rollout"
    fields = ["part", "noun", "namespace", "rollout", "outcome", "ended", "stands", "next", "blockedBy", "notes"]
    assert list(document)[2:12] == fields
    assert document["stands"]["lanes"][1]["cells"][0] == {
        "name": "ingester-zone-b-0",
        "ordinal": 0,
        "state": "notReady",
        "revision": "new",
        "restarts": 0,
    }


def test_nothing_found_is_an_empty_list_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(World(), tmp_path) as server:
        main(["get", "-o", "json", "--kubeconfig", server.kubeconfig])

    assert json.loads(capsys.readouterr().out)["items"] == []


def test_as_is_sent_as_impersonation(tmp_path: Path) -> None:
    with served(rolling(), tmp_path) as server:
        main(["get", "--as", "max", "--kubeconfig", server.kubeconfig])

    assert {headers.get("Impersonate-User") for headers in server.headers} == {"max"}


def test_a_narrow_terminal_cuts_the_longest_column_and_keeps_the_others() -> None:
    row = {"ROLLOUT": "ingester", "WAITING FOR": "x" * 100, "SINCE": str(timedelta(seconds=5))}

    cut = table([row], width=60).splitlines()[1]

    assert len(cut) == 60
    assert cut.startswith("ingester   xxx")
    assert cut.endswith("…   0:00:05")
