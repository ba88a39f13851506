"""`docs/rules.md` is true: each operation has an example that is run there and back, and the test in it passes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from fairlead.contracts.apiversions.commands import API
from fairlead.contracts.apiversions.decide.carry_entries import read
from fairlead.contracts.apiversions.decide.convert import convert
from fairlead.contracts.apiversions.decide.operations.nested import AnyOp
from fairlead.contracts.apiversions.decide.trees import Absent
from tests.contracts.apiversions.decide.widgets import definition, listed, made_of, two_versions, widget

PAGE = (Path(__file__).parents[3] / "docs" / "rules.md").read_text()
EXAMPLE = re.compile(
    r"^### (?P<title>.+?)\n+```yaml\n(?P<ops>.+?)```\n+```yaml\n(?P<objects>.+?)```", re.DOTALL | re.MULTILINE
)
EXAMPLES = {found["title"]: found for found in EXAMPLE.finditer(PAGE)}
WAYS_BACK = {"unset", "takeOut", "compose"}
"""Written by nobody but `rehub`."""


def schema_of(value: Any) -> dict[str, Any]:
    """Of one value: just what it holds."""
    match value:
        case dict():
            return made_of((), **{str(name): schema_of(each) for name, each in value.items()})
        case list():
            return listed(schema_of(value[0]) if value else {"type": "string"})
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
    return {"type": "string"}


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_operation_does_what_the_page_shows_and_comes_back(title: str) -> None:
    shown = yaml.safe_load(EXAMPLES[title]["objects"])
    operations = yaml.safe_load(EXAMPLES[title]["ops"])
    kind = two_versions(schema_of(shown["v1"]), schema_of(shown["v2"]), toHub=operations)
    old = widget("v1", **shown["v1"])

    there = convert(old, "v2", kind).tree

    assert {key: there[key] for key in shown["v2"]} == shown["v2"]
    entries = read(there["metadata"].get("annotations") or {}).values()
    assert [each.place for each in entries if each.wanted is not Absent] == shown.get("carried", [])
    assert convert(there, "v1", kind).tree["spec"] == old["spec"]


def test_every_operation_is_on_the_page() -> None:
    tags = {each.__struct_config__.tag for each in get_args(AnyOp)} - WAYS_BACK
    named = {name for title in EXAMPLES for name in re.findall(r"`(\w+)`", title)}

    assert tags == named


def test_the_test_on_the_page_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    (rules,) = re.findall(r"```yaml\n(kind: ConversionRules.+?)```", PAGE, re.DOTALL)
    text = {"type": "string"}
    schemas = {"v1": made_of(spec=made_of(colour=text)), "v2": made_of(spec=made_of(paint=made_of(colour=text)))}
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(definition(**schemas)))
    (tmp_path / "rules.yaml").write_text(rules)
    monkeypatch.chdir(tmp_path)

    names: dict[str, Any] = {}
    exec(compile(code, "docs/rules.md", "exec"), names)  # noqa: S102  (our own page)
    tests = [each for name, each in names.items() if name.startswith("test_")]
    for test in tests:
        test()

    assert len(tests) == 2


def test_commands_on_the_page_are_commands() -> None:

    for words in re.findall(r"`fairlead api ([a-z-]+(?: [a-z]+)?)", PAGE):
        assert any(words == each or words.startswith(f"{each} ") for each in API.commands), words
