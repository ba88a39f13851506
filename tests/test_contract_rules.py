"""Every rule that code cites is in the contract's document, and every rule of a document is cited."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.contract_rules import (
    DOCUMENTS,
    ROOT,
    UNCITED,
    Cited,
    citations,
    cited_in,
    contracts,
    defined,
    named_after,
    prose,
    within,
)


@pytest.mark.parametrize("contract", contracts())
def test_every_rule_that_is_cited_is_in_the_document(contract: str) -> None:
    known = defined(contract)

    unknown = [each for each in citations() if each.contract == contract and each.rule not in known]

    assert not unknown, f"not in docs/contracts/{contract}.md: {_listed(unknown)}"


@pytest.mark.parametrize("contract", contracts())
def test_every_rule_of_the_document_is_cited(contract: str) -> None:
    """A section counts when anything in it does; a rule may say why it is not in the code."""
    cited = {each.rule for each in citations() if each.contract == contract}
    sections = _sections(contract)

    missing = [
        rule
        for rule, text in defined(contract).items()
        if rule not in cited and UNCITED not in text and not sections.get(rule, set()) & cited
    ]

    assert not missing, f"cited nowhere: {', '.join(missing)}"


def test_rules_are_cited_with_their_contract() -> None:
    """Outside of the folders of a contract an id alone leads nowhere."""
    homeless = [each for each in citations() if each.contract is None]

    assert not homeless, f"write `zones {homeless[0].rule}` or the like: {_listed(homeless)}"


def test_the_engine_cites_no_contract() -> None:
    engine = ("fairlead/core/", "fairlead/engine/", "kubeloop/", "kubesim/")

    found = [each for each in citations() if each.path.startswith(engine)]

    assert not found, f"any contract may use it, so a rule's number says nothing there: {_listed(found)}"


@pytest.mark.parametrize("contract", contracts())
def test_nothing_looks_like_a_citation_and_is_none(contract: str) -> None:
    """A number of a section without the word before it, or a step without its section, is found by nobody."""
    numbers = "|".join(
        re.escape(rule.removeprefix("section "))
        for rule in defined(contract)
        if re.fullmatch(r"section \d+\.\d+", rule)
    )
    stray = re.compile(rf"(?<![\w.])(?:{numbers})(?![\w.%]|\.\d)|\b[Ss]teps? \d")
    cited = re.compile(
        r"[Ss]ections? \d+\.\d+(?: and \d+\.\d+)*(?:,? (?:step|case|point)s? \d+(?:(?:, | and | to )\d+)*)?"
    )

    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "fairlead" / "contracts" / contract).rglob("*.py"))
        for line, text in prose(path.read_text())
        if stray.search(cited.sub("", text))
    ]

    assert not found, f"write `section 3.11` or `section 3.11 step 9`: {', '.join(found)}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rule 19: the record", ["rule 19"]),
        ("What rules 13 to 15 and 20 ask for.", ["rule 13", "rule 14", "rule 15", "rule 20"]),
        ("Rule 10(b) with H-7", ["rule 10", "H-7"]),
        ("D0 to D2 with B-6, E-2.", ["D0", "D1", "D2", "B-6", "E-2"]),
        ("(section 3.11 steps 5 to 7 and 11)", [f"section 3.11 step {step}" for step in (5, 6, 7, 11)]),
        ("Sections 3.11 and 3.12", ["section 3.11", "section 3.12"]),
        ("RE2, Python 3.11, v1.36, 2.4 of 8, V1Pod, UTF-8, SHA-256", []),
    ],
)
def test_citations_are_found_and_nothing_else(text: str, expected: list[str]) -> None:
    assert [rule for _, rule in cited_in(text)] == expected


def test_the_name_of_a_contract_holds_for_the_ids_that_follow() -> None:
    assert list(cited_in("zones S9 to S10, S16; and S1")) == [
        ("zones", "S9"),
        ("zones", "S10"),
        ("zones", "S16"),
        (None, "S1"),
    ]


def test_tests_cite_by_their_names() -> None:
    names = ("h17_wakes", "b_8_clears", "rule_24_passes", "07_lags", "v1_is_a_version", "z12_counts")
    source = "".join(f"def test_{name}() -> None:\n" for name in names)

    found = list(named_after(source, "zones"))

    assert found == [(1, "H-17"), (2, "B-8"), (3, "rule 24"), (4, "scenario 7"), (6, "Z12")]


def _sections(contract: str) -> dict[str, set[str]]:
    """What stands in each section of the document."""
    inside: dict[str, set[str]] = defaultdict(set)
    section = ""
    for line in (DOCUMENTS / f"{contract}.md").read_text().splitlines():
        if line.startswith("#"):
            section = f"section {line.split()[1]}"
        elif entry := re.match(r"- \*\*(.+?)\.\*\* ", line):
            inside[section].add(within(section.removeprefix("section "), entry[1]))
    return inside


def _listed(cited: list[Cited]) -> str:
    return "; ".join(f"{each.rule} in {each.path}:{each.line}" for each in cited)
