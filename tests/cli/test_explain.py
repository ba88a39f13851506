"""`fairlead explain` against a server over real HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import yaml

from fairlead.cli import exits
from fairlead.cli.main import main
from fairlead.core.progress_deadline import PROGRESS_DEADLINE
from tests.builders import a_zone, pods_of
from tests.cli.worlds import Object, World, served

PATIENT = {PROGRESS_DEADLINE: "100000h"}
A, B = a_zone("a", current="new"), a_zone("b", ready=2, annotations=PATIENT)


def rolling() -> World:
    return World(A, pods_of(A, "new"), B, pods_of(B, "old", _0="notReady new"))


def elsewhere(item: Object) -> Object:
    return msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, namespace="other"))


def explained(world: World, folder: Path, *words: str) -> int:
    with served(world, folder) as server:
        return main(["explain", *words, "--kubeconfig", server.kubeconfig])


@pytest.mark.parametrize("name", ["ingester", "ingester-zone-b"])
def test_a_rollout_is_found_by_its_name_or_by_one_of_its_statefulsets(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = explained(rolling(), tmp_path, name)

    text = capsys.readouterr().out
    assert code == exits.OK
    assert text.startswith("ingester  (zones in namespace test)  Waiting\n")
    assert "Where it stands: 3 of 6 pods\n" in text
    assert "  ingester-zone-a  Current  3/3  ●n ●n ●n\n" in text
    assert "  ingester-zone-b  Waiting  0/3  ◐n ●o ●o\n" in text
    assert "    from old to new, at most 1 at a time\n" in text
    assert "What it waits for\n  - ingester-zone-b: 1 of 1 allowed pods is unavailable" in text
    assert "ends when" in text


@pytest.mark.parametrize("name", ["", '""'])
def test_the_group_without_a_name_is_asked_for_by_two_quotes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nameless = a_zone("a", current="new", group="")

    code = explained(World(nameless, pods_of(nameless, "new")), tmp_path, name)

    assert code == exits.OK
    assert capsys.readouterr().out.startswith('""  (zones in namespace test)  Current\n')


def test_an_unknown_name_is_code_3_with_near_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = explained(rolling(), tmp_path, "ingestor")

    (line,) = capsys.readouterr().err.splitlines()
    assert code == exits.NOT_FOUND
    assert line.startswith(
        "fairlead: no rollout or StatefulSet named ingestor in namespace test; did you mean ingester"
    )


def test_a_name_like_no_other_is_answered_with_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = explained(rolling(), tmp_path, "qqqq")

    assert code == exits.NOT_FOUND
    assert capsys.readouterr().err.endswith("; there are: ingester\n")


def test_a_name_where_nothing_is_rolled_says_what_was_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = explained(World(), tmp_path, "ingester")

    assert code == exits.NOT_FOUND
    assert capsys.readouterr().err == (
        "fairlead: ingester not found:"
        " no StatefulSet with the label rollout-group, no Materialize, no LeaderWorkerSet, no RolloutTrait"
        " and no migration of a CRD in namespace test\n"
    )


def test_a_name_in_several_namespaces_must_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = rolling()
    world.put(elsewhere(A), tuple(map(elsewhere, pods_of(A, "new"))))

    code = explained(world, tmp_path, "ingester", "-A")

    assert code == exits.USAGE
    assert "ingester is in several namespaces (other, test): choose one with -n" in capsys.readouterr().err


def test_for_programs_it_is_the_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explained(rolling(), tmp_path, "ingester", "-o", "json")
    as_json = json.loads(capsys.readouterr().out)
    explained(rolling(), tmp_path, "ingester", "-o", "yaml")
    as_yaml = yaml.safe_load(capsys.readouterr().out)

    assert as_json == as_yaml
    assert as_json["rollout"] == "ingester"
    assert as_json["stands"]["phase"] == "Waiting"
    assert as_json["blockedBy"][0]["object"] == "statefulset/ingester-zone-b"


def test_looking_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished = a_zone("a", current="old")  # every pod is new, so an operator would record the revision

    with served(World(finished, pods_of(finished, "new")), tmp_path) as server:
        main(["explain", "ingester", "--kubeconfig", server.kubeconfig])

    assert "  - record revision new as current in ingester-zone-a\n" in capsys.readouterr().out
    assert set(server.methods) == {"GET"}
