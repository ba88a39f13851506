"""`fairlead hash`: what it prints for files of all sorts."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
import yaml

from fairlead.cli import exits
from fairlead.cli.main import main
from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.kinds import FORCE_ROLLOUT
from fairlead.engine.object_files import objects_in
from tests.contracts.environments.decide.trees import (
    HV,
    HW,
    U1,
    V1,
    V1ALPHA1,
    V1ALPHA2,
    Tree,
    V,
    W,
    an_object,
    an_old_object,
)

Captured = pytest.CaptureFixture[str]


def written(path: Path, *trees: object) -> str:
    path.write_text(yaml.safe_dump_all(trees, sort_keys=False))
    return str(path)


@pytest.mark.parametrize("version", [V1ALPHA1, V1ALPHA2, V1])
def test_an_environment_has_one_hash_in_every_version(version: str, tmp_path: Path, capsys: Captured) -> None:
    old = {"requestRollout": U1, "inPlaceRollout": True, "forcePromote": ""} if version == V1ALPHA1 else {}
    name = written(tmp_path / "m.yaml", an_object(version, V | old))

    code = main(["hash", "-f", name])

    assert (code, capsys.readouterr().out) == (exits.OK, f"e/m  {HV}\n")


def test_several_files_and_documents_beside_other_kinds(tmp_path: Path, capsys: Captured) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    cousin = {"apiVersion": "example.com/v1", "kind": "Materialize", "metadata": {"name": "x"}}
    first = written(tmp_path / "a.yaml", secret, an_object(name="one"), None, cousin, an_object(name="two", spec=W))
    second = tmp_path / "b.json"
    forced = an_object(name="three", annotations={FORCE_ROLLOUT: "x"})
    del forced["metadata"]["namespace"]
    second.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [forced]}, indent="\t"))

    code = main(["hash", "-f", first, "--filename", str(second), "-o", "json"])

    assert code == exits.OK
    assert json.loads(capsys.readouterr().out) == [
        {"namespace": "e", "name": "one", "hash": HV},
        {"namespace": "e", "name": "two", "hash": HW},
        {"namespace": "", "name": "three", "hash": rollout_hash(V, {FORCE_ROLLOUT: "x"})},
    ]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(an_object())))

    code = main(["hash", "-f", "-"])

    assert (code, capsys.readouterr().out) == (exits.OK, f"e/m  {HV}\n")


def test_texts_are_what_kubectl_takes_them_for(tmp_path: Path, capsys: Captured) -> None:
    """Dates and times stay texts, octal numbers and whole fractions become whole numbers, keys become texts."""
    path = tmp_path / "m.yaml"
    path.write_text(
        f"""
apiVersion: materialize.cloud/v1
kind: Materialize
metadata: {{name: m, namespace: e, annotations: {{{FORCE_ROLLOUT}: 2026-01-01}}}}
spec:
  environmentdImageRef: {V["environmentdImageRef"]}
  backendSecretName: {V["backendSecretName"]}
  environmentId: {V["environmentId"]}
  enableRbac: y
  podLabels: {{1: "a", yes: "b", time: 12:30:15}}
  environmentdResourceRequirements: {{limits: {{cpu: 2.0, memory: 0x10}}, requests: {{cpu: 010}}}}
"""
    )

    code = main(["hash", "-f", str(path)])

    spec = V | {
        "enableRbac": True,
        "podLabels": {"1": "a", "true": "b", "time": "12:30:15"},
        "environmentdResourceRequirements": {"limits": {"cpu": 2, "memory": 16}, "requests": {"cpu": 8}},
    }
    expected = rollout_hash(spec, {FORCE_ROLLOUT: "2026-01-01"})
    assert (code, capsys.readouterr().out) == (exits.OK, f"e/m  {expected}\n")


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("~", None),
        ("Null", None),
        ("off", False),
        ("N", False),
        ("TRUE", True),
        ("oN", "oN"),
        ("08", 8),
        ("0o17", 15),
        ("0b11", 3),
        ("1_000", 1000),
        ("-7", -7),
        ("1e3", 1000),
        (".5", 0.5),
        ("1.5.2", "1.5.2"),
        ("1:30", "1:30"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("'7'", "7"),
        ("!!str 7", "7"),
        ("=", "="),
    ],
)
def test_plain_scalars(scalar: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"x: {scalar}\n")

    (found,) = objects_in(str(path))

    assert found == {"x": value}
    assert isinstance(found, dict)
    assert type(found["x"]) is type(value)


def without(field: str) -> Tree:
    return {key: value for key, value in V.items() if key != field}


BAD: dict[str, tuple[object, str]] = {
    "no environment in it": ({"kind": "Secret"}, "holds no Materialize of materialize.cloud: name a file that does"),
    "nothing in it": (None, "holds no Materialize"),
    "a text": ("hello", "holds no Materialize"),
    "no id": (an_object(spec=without("environmentId")), "Materialize 1: e/m has no environmentId, which is part of"),
    "a nil id": (an_old_object(V | {"environmentId": "0" * 32}), "e/m has no environmentId"),
    "a null id": (an_object(spec=V | {"environmentId": None}), "e/m has no environmentId"),
    "an id that is none": (an_object(spec=V | {"environmentId": "x"}), "the environmentId of e/m is not a UUID"),
    "a version nobody knows": (an_object("materialize.cloud/v3"), "its apiVersion is missing or unknown: send one of"),
    "no spec": (an_object() | {"spec": None}, "does not have the fields of a Materialize: expected `object`"),
    "a spec that is a list": (an_old_object() | {"spec": []}, "its spec is not an object"),
    "no image": (an_object(spec=without("environmentdImageRef")), "missing required field `environmentdImageRef`"),
    "no name": (an_object() | {"metadata": {}}, "missing required field `name`"),
    "a number for a text": (an_object(spec=V | {"podLabels": {"a": 1}}), "expected `str`, got `int`"),
    "a strategy nobody knows": (an_object(spec=V | {"rolloutStrategy": "x"}), "invalid enum value 'x'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_objects_get_a_sentence_and_good_ones_their_hash(case: str, tmp_path: Path, capsys: Captured) -> None:
    tree, sentence = BAD[case]
    bad = written(tmp_path / "bad.yaml", tree)
    good = written(tmp_path / "good.yaml", an_object())

    code = main(["hash", "-f", bad, "-f", good])

    printed = capsys.readouterr()
    assert (code, printed.out) == (exits.ERROR, f"e/m  {HV}\n")
    assert re.fullmatch(rf"fairlead: {re.escape(bad)}.*\n", printed.err)
    assert sentence in printed.err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a: [1\nb: 2\n", "bad.yaml is neither YAML nor JSON: see line 2, column 2"),
        (b"\xff\xfe\x00", "bad.yaml is not text in UTF-8: give YAML or JSON"),
        (b"\x01", "bad.yaml is neither YAML nor JSON"),
        (b"a: &a [*a]\n", "bad.yaml is nested too deeply"),
        (b"!!python/object:os.system x\n", "bad.yaml is neither YAML nor JSON"),
    ],
)
def test_files_that_cannot_be_read(content: bytes, sentence: str, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)

    code = main(["hash", "-f", str(path)])

    assert code == exits.ERROR
    assert sentence in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: Captured) -> None:
    code = main(["hash", "-f", str(tmp_path / "none.yaml"), "-f", str(tmp_path)])

    assert code == exits.ERROR
    assert [line.rpartition(": ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "no such file or directory; correct the path",
        "is a directory; name the files in it",
    ]


def test_a_file_must_be_named(capsys: Captured) -> None:
    assert main(["hash"]) == exits.USAGE
    assert "-f/--filename" in capsys.readouterr().err
