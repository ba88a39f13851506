"""`fairlead api rules check|suggest|diff|rehub` as somebody calls them (section 6.1, B16)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.cli.main import main
from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.decide.rule_sets import kind_of, read_rules
from tests.contracts.apiversions.decide.widgets import (
    INTEGER,
    NAME,
    RULES,
    TEXT,
    V1,
    V2,
    definition,
    listed,
    made_of,
    to,
    widget,
)

Captured = pytest.CaptureFixture[str]
TO_HUB = RULES["spokes"][0]["toHub"]


class Files:
    """Rule sets and definitions on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.crd()

    def crd(self, **schemas: Any) -> None:
        whole = {"kind": "CustomResourceDefinition", **definition(**schemas)}
        (self.folder / "crd.yaml").write_text(yaml.safe_dump(whole))

    def rules(self, name: str = "rules.yaml", **fields: Any) -> str:
        (self.folder / name).write_text(yaml.safe_dump({**RULES, **fields}))
        return str(self.folder / name)

    def run(self, *words: str) -> int:
        return main(["api", "rules", *words, "--crd", str(self.folder / "crd.yaml")])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def spokes(*operations: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    return [{"version": "v1", "toHub": [*operations], **fields}]


def test_what_is_carried_is_told_with_its_bytes(files: Files, capsys: Captured) -> None:
    assert files.run("check", files.rules(), "-o", "json") == codes.DONE

    (checked,) = json.loads(capsys.readouterr().out)
    ways = {(each["source"], each["target"]): each for each in checked["ways"]}
    carried = {each["place"]: each["always"] for each in ways["v1", "v2"]["carried"]}
    assert carried["/spec/old/a"] is True
    assert carried["/spec/wait"] is False, "some texts are no durations"
    assert "/spec/size" not in carried
    assert 0 < ways["v1", "v2"]["meanBytes"] <= ways["v1", "v2"]["largestBytes"]
    assert "/spec/parts/*/colour" in {each["place"] for each in ways["v3", "v2"]["carried"]}


def test_a_version_without_a_spoke_is_noted(files: Files, capsys: Captured) -> None:
    assert files.run("check", files.rules(spokes=RULES["spokes"][:1])) == codes.DONE

    told = capsys.readouterr().out
    assert f"{NAME}: may be used\n" in told
    assert "note: v3 is no spoke: its objects are not converted, and the CRD cannot be attached\n" in told


def test_all_problems_are_told_at_once(files: Files, capsys: Captured) -> None:
    bad = spokes(
        {"op": "scale", "path": "/spec/size", "by": 0},
        {"op": "move", "from": "spec", "to": "/spec/x"},
        {"op": "copy", "from": "/spec/size", "to": "/metadata/x"},
    )
    rules = files.rules(spokes=bad)

    assert files.run("check", rules) == codes.FINDINGS
    told = capsys.readouterr().out.splitlines()
    assert [each.partition("operation ")[2].partition(":")[0] for each in told] == ["1, scale", "2, move", "3, copy"]

    assert files.run("check", rules, "-o", "junit") == codes.FINDINGS
    assert '<testsuite name="rules check' in capsys.readouterr().out


def test_a_value_of_another_type_than_the_version_has_is_a_problem(files: Files, capsys: Captured) -> None:
    files.crd(v1=made_of(spec=made_of(zones=listed(TEXT))), v2=made_of(spec=made_of(zones=made_of(a=TEXT))))

    assert files.run("check", files.rules(spokes=[{"version": "v1"}])) == codes.FINDINGS

    told = capsys.readouterr().out
    assert "from v1 to v2: /spec/zones is not of the type it has there, object" in told
    assert "from v2 to v1: /spec/zones is not of the type it has there, array" in told


def test_what_is_no_operation_is_told_with_those_there_are(files: Files, capsys: Captured) -> None:
    assert files.run("check", files.rules(spokes=spokes({"op": "mov", "from": "/a", "to": "/b"}))) == codes.FINDINGS

    told = capsys.readouterr().out
    assert "Invalid value 'mov' - at `$.spokes[0].toHub[0].op`; operations are move, copy, drop" in told


def test_a_draft_finds_what_was_renamed_moved_and_retyped(files: Files, capsys: Captured) -> None:
    files.crd(
        v1=made_of(spec=made_of(colour=TEXT, wait=TEXT, port=INTEGER, zone=TEXT, sizing=made_of(a=TEXT, b=TEXT))),
        v2=made_of(
            spec=made_of(
                paint=made_of(colour=TEXT),
                waitSeconds=INTEGER,
                port=TEXT,
                zone=listed(TEXT),
                dimensions=made_of(a=TEXT, b=TEXT),
            )
        ),
    )

    assert files.run("suggest") == codes.DONE

    draft = capsys.readouterr().out
    found = yaml.safe_load(draft)["spokes"][0]["toHub"]
    assert {"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"} in found
    assert {"op": "duration", "path": "/spec/wait", "unit": "s"} in found
    assert {"op": "move", "from": "/spec/wait", "to": "/spec/waitSeconds"} in found
    assert {"op": "cast", "path": "/spec/port", "to": "string"} in found
    assert {"op": "wrap", "path": "/spec/zone"} in found
    assert {"op": "move", "from": "/spec/sizing", "to": "/spec/dimensions"} in found
    assert all("#" in line for line in draft.splitlines() if "op:" in line), "each says why it is there"


def test_a_draft_of_any_two_schemas_may_be_used(files: Files, capsys: Captured) -> None:
    files.crd(v1=V1, v2=V2)

    assert files.run("suggest", "--hub", "v1") == codes.DONE
    rules = read_rules(yaml.safe_load(capsys.readouterr().out))
    assert [*self_test.problems(kind_of(rules, definition(v1=V1, v2=V2)))] == []


def test_what_becomes_carried_or_derived_is_told(files: Files, capsys: Captured) -> None:
    before = files.rules("before.yaml", spokes=spokes(*TO_HUB))
    fewer = [each for each in TO_HUB if each.get("from") != "/spec/size"]
    after = files.rules("after.yaml", spokes=spokes(*fewer, derived=["/status/seen"]))

    assert files.run("diff", before, after) == codes.DONE
    told = capsys.readouterr().out
    assert f"{NAME}: v1 -> v2 /spec/size: not carried, now carried\n" in told
    assert f"{NAME}: v2 -> v1 /spec/replicas: not carried, now carried\n" in told
    assert f"{NAME}: v1 /status/seen: not derived, now derived\n" in told

    assert files.run("diff", before, before) == codes.DONE
    assert capsys.readouterr().out == "both carry and derive the same\n"


def test_another_hub_converts_the_same(files: Files, capsys: Captured) -> None:
    assert files.run("rehub", files.rules(), "--hub", "v1") == codes.DONE

    rules = read_rules(yaml.safe_load(capsys.readouterr().out))
    assert (rules.hub, [each.version for each in rules.spokes]) == ("v1", ["v2", "v3"])
    kind = kind_of(rules, definition())
    old = widget("v1", spec={"size": 3, "wait": "90s", "image": "r/x:1", "ports": [{"port": 1, "label": "a"}]})
    for version in ("v2", "v3"):
        assert to(version, old, kind)["spec"] == to(version, old)["spec"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rehub", "--hub", "v2"], "v2 is the hub already"),
        (["rehub", "--hub", "v9"], "v9 is no spoke: the spokes are v1, v3"),
        (["suggest", "--hub", "v9"], "--hub names v9: versions are v1, v2, v3"),
        (["diff", "nowhere"], "nowhere cannot be read"),
    ],
)
def test_mistakes_are_told_in_a_sentence(words: list[str], sentence: str, files: Files, capsys: Captured) -> None:
    rules = [] if words[0] == "suggest" else [files.rules()]

    assert files.run(*words, *rules) == codes.USAGE
    assert sentence in capsys.readouterr().err


def test_a_self_test_ends_when_its_time_is_over_and_has_tried_some() -> None:
    ticks = iter(range(10_000))

    assert [*self_test.problems(kind_of(read_rules(RULES), definition()), 5000, 1.0, lambda: float(next(ticks)))] == []
    assert next(ticks) < 100
