"""`fairlead api convert` and `roundtrip` as somebody calls them, without a cluster (section 2.3)."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from fairlead.cli.main import main
from fairlead.contracts.apiversions.commands import codes
from tests.contracts.apiversions.decide.widgets import RULES, definition, widget

Captured = pytest.CaptureFixture[str]
OLD = "apiVersion: example.com/v1 # old\nkind: Widget\nmetadata: {name: one}\nspec:\n  size: 3 # many\n"
NEW = OLD.replace("/v1", "/v2").replace("size", "replicas")


@pytest.fixture
def sources(tmp_path: Path) -> list[str]:
    crd, rules = tmp_path / "crd.yaml", tmp_path / "rules.yaml"
    whole = {"kind": "CustomResourceDefinition", **definition()}
    crd.write_text(yaml.safe_dump(whole))
    rules.write_text(yaml.safe_dump(RULES))
    return ["--crd", str(crd), "--rules", str(rules)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "base").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "base" / "one.yaml").write_text(OLD)
    (folder / ".git" / "old.yaml").write_text(OLD)
    (folder / "chart.tpl").write_text(OLD)
    (folder / "other.yaml").write_text("]: nobody's concern")
    return folder


def convert(*words: str) -> int:
    return main(["api", "convert", "--to", "v2", *words])


def test_a_tree_is_rewritten_in_place_and_each_object_listed_before(
    tree: Path, sources: list[str], capsys: Captured
) -> None:
    (tree / "base" / "one.yaml").chmod(0o640)

    assert convert("-f", str(tree), "--in-place", *sources) == codes.DONE

    told = capsys.readouterr().err
    assert told == f"{tree}/base/one.yaml:1: Widget one: v1 -> v2\n1 of 2 files rewritten\n"
    assert (tree / "base" / "one.yaml").read_text() == NEW
    assert (tree / "base" / "one.yaml").stat().st_mode & 0o777 == 0o640
    assert [(tree / each).read_text() for each in (".git/old.yaml", "chart.tpl")] == [OLD, OLD]
    assert sorted(each.name for each in (tree / "base").iterdir()) == ["one.yaml"], "no temporary file stays"


def test_other_extensions_are_asked_for(tree: Path, sources: list[str]) -> None:
    assert convert("-f", str(tree), "--in-place", "--extensions", ".tpl", *sources) == codes.DONE

    assert (tree / "chart.tpl").read_text() == NEW
    assert (tree / "base" / "one.yaml").read_text() == OLD


def test_without_in_place_the_new_text_is_printed(sources: list[str], capsys: Captured, monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(OLD))

    assert convert("-f", "-", *sources) == codes.DONE
    assert capsys.readouterr().out == NEW


def test_one_object_that_cannot_be_converted_keeps_all_files_unless_told_to_go_on(
    tree: Path, sources: list[str], capsys: Captured
) -> None:
    bad = OLD.replace("size: 3", "wait: {{ .Values.wait }}")
    (tree / "bad.yaml").write_text(bad)

    assert convert("-f", str(tree), "--in-place", *sources) == codes.FINDINGS
    assert (tree / "base" / "one.yaml").read_text() == OLD
    told = capsys.readouterr().err
    assert "bad.yaml:1: Widget one: v1 -> v2\n  cannot be converted: the template at line 5 gives /spec/wait" in told
    assert "nothing was written" in told

    assert convert("-f", str(tree), "--in-place", "--keep-going", *sources) == codes.OBJECTS_FAILED
    assert (tree / "base" / "one.yaml").read_text() == NEW
    assert (tree / "bad.yaml").read_text() == bad


def test_a_dry_run_only_lists(tree: Path, sources: list[str], capsys: Captured) -> None:
    assert convert("-f", str(tree), "--in-place", "--dry-run", *sources) == codes.DONE

    assert (tree / "base" / "one.yaml").read_text() == OLD
    assert "one.yaml:1: Widget one: v1 -> v2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-f", "nowhere"], "nowhere is neither a file nor a folder"),
        (["-f", "-", "--in-place"], "standard input is none"),
        (["-f", "-", "--to", "v9"], "--to names v9, which is no version of what is defined: there are v1, v2, v3"),
        (["-f", "-", "--extensions", "yaml"], "--extensions needs a list such as .yaml,.tpl"),
        (["-f", "-", "--rules", "nowhere"], "nowhere cannot be read"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    words: list[str], sentence: str, sources: list[str], capsys: Captured, monkeypatch: Any
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(OLD))

    assert convert(*sources, *words) == codes.USAGE
    assert sentence in capsys.readouterr().err


def roundtrip(*words: str) -> int:
    return main(["api", "roundtrip", *words])


def test_objects_of_files_and_made_up_ones_come_back(tmp_path: Path, sources: list[str], capsys: Captured) -> None:
    objects = tmp_path / "objects.yaml"
    objects.write_text(yaml.safe_dump_all([widget("v1", spec={"size": 1}), {"kind": "Other"}]))

    assert roundtrip(*sources, "-f", str(objects), "--fuzz", "5", "-o", "json") == codes.DONE

    report = json.loads(capsys.readouterr().out)
    assert report["objects"] == {"files": 1, "madeUp": 15}
    assert report["versions"] == ["v2", "v1", "v3"]
    assert report["failed"] == 0


def test_what_does_not_come_back_is_told_by_place_and_value(
    tmp_path: Path, sources: list[str], capsys: Captured
) -> None:
    lossy = {**RULES, "spokes": [{**RULES["spokes"][0], "carry": "off"}, {"version": "v3"}]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(lossy))
    objects = tmp_path / "objects.yaml"
    objects.write_text(yaml.safe_dump(widget("v1", spec={"size": 1, "old": {"a": 7}})))

    assert roundtrip(*sources, "-f", str(objects)) == codes.FINDINGS
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["test/one from v1 to v2 and back", "  /spec/old/a: 7 came back as -"]
    assert told[-1].endswith("2 times something did not come back")
    assert "6 ways between v2, v1, v3, rules " in told[-1]

    assert roundtrip(*sources, "-f", str(objects), "-o", "junit") == codes.FINDINGS
    suite = ET.fromstring(capsys.readouterr().out).find("testsuite")  # noqa: S314  (what we have written ourselves)
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("6", "2")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["gadgets.example.com"], codes.ERROR, "does not define gadgets.example.com: it defines widgets.example.com"),
        (["--live"], codes.USAGE, "--live needs the cluster, and --crd works without one"),
        (["--fuzz", "many"], codes.USAGE, "--fuzz needs a whole number from 0 to"),
    ],
)
def test_mistakes_about_what_to_try_are_told(
    words: list[str], code: int, sentence: str, sources: list[str], capsys: Captured
) -> None:
    assert roundtrip(*sources, *words) == code
    assert sentence in capsys.readouterr().err
