"""Rules of the contracts: the ids that `docs/contracts/NAME.md` defines, and the places that cite them.

A place cites in a comment or a docstring: `rule 19`, `rules 22 to 25`, `P1`, `H-3`, `scenario 27`, `section 3.8`,
`section 3.11 step 9`, `section 3.4 case 2`. In the folders of a contract the ids are those of its document; elsewhere
the name stands before them (`zones S11`). Documents define `**Rule 19.**` at the beginning of a list entry, and
sections by their headings; steps, cases and points belong to the section that they stand in.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parent.parent
DOCUMENTS = ROOT / "docs" / "contracts"
CODE = ("fairlead", "kubeloop", "kubesim", "tests", "bench", "tools")
OWN_FOLDERS = ("fairlead/contracts/{}/", "tests/contracts/{}/", "tests/chaos/{}/", "tests/e2e/test_{}_")
OF_ZONES = ("tests/chaos/", "tests/engine/webhooks/", "tests/invariants.py")
"""Where nothing else is said, these speak of zones: the world of `tests/chaos`, its invariants, and reviews."""
SELF = "tests/contract_rules.py"
UNCITED = "Not in code"
"""How the sentence begins that says why no code cites a rule."""

NUMBERS = r"\d+(?:(?:, | and | to )\d+)*"
SECTION = (
    rf"[Ss]ections? (?P<sections>\d+\.\d+(?: and \d+\.\d+)*)(?:,? (?P<part>step|case|point)s? (?P<places>{NUMBERS}))?"
)
COUNTED = rf"(?P<kind>[Rr]ule|[Ss]cenario)s? (?P<numbers>{NUMBERS})"
LETTERED = r"(?P<letters>RT|[A-Z]-?)(?P<first>\d{1,2})\b(?!\.\d)(?: to (?P=letters)(?P<last>\d{1,2})\b)?"


def contracts() -> list[str]:
    """Those that have a document."""
    return sorted(path.stem for path in DOCUMENTS.glob("*.md"))


CITATION = re.compile(rf"(?:\b(?P<contract>{'|'.join(contracts())}) )?(?<![\w.-])(?:{SECTION}|{COUNTED}|{LETTERED})")


class Cited(Struct, frozen=True):
    contract: str | None
    rule: str
    path: str
    line: int


@cache
def defined(contract: str) -> dict[str, str]:
    """What the contract's document says of each id."""
    rules: dict[str, str] = {}
    section, latest = "", ""
    for line in (DOCUMENTS / f"{contract}.md").read_text().splitlines():
        if line.startswith("#"):
            heading = re.match(r"### (\d+\.\d+) ", line)
            section = heading[1] if heading else ""
            latest = f"section {section}" if section else ""
        elif entry := re.match(r"- \*\*(.+?)\.\*\* ", line):
            latest = within(section, entry[1])
        elif latest and line.startswith("  "):
            rules[latest] += line
            continue
        else:
            continue
        if latest in rules:
            raise ValueError(f"docs/contracts/{contract}.md: {latest} is defined twice")
        if latest:
            rules[latest] = line
    return rules


def within(section: str, name: str) -> str:
    """Steps, cases and points are counted from 1 in each section; everything else once in a document."""
    lower = name[0].lower() + name[1:] if " " in name else name
    return f"section {section} {lower}" if lower.startswith(("step ", "case ", "point ")) else lower


@cache
def citations() -> tuple[Cited, ...]:
    """Of the whole repository."""
    return tuple(_citations())


def _citations() -> Iterator[Cited]:
    for root in CODE:
        for path in sorted((ROOT / root).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name == SELF:
                continue
            own = next((each for each in contracts() if name.startswith(_folders(each))), None)
            own = own or ("zones" if name.startswith(OF_ZONES) else None)
            source = path.read_text()
            if CITATION.search(" ".join(source.split())):  # few do, and tokens take long
                for line, text in prose(source):
                    for contract, rule in cited_in(text):
                        yield Cited(contract or own, rule, name, line)
            if own is not None:
                yield from (Cited(own, rule, name, line) for line, rule in named_after(source, own))


def _folders(contract: str) -> tuple[str, ...]:
    return tuple(each.format(contract) for each in OWN_FOLDERS)


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings, those of attributes too, each with its line."""
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins and '"""' in token.string):
            yield token.start[0], " ".join(token.string.split())
        if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            begins = True
        elif token.type != tokenize.COMMENT:
            begins = False


def cited_in(text: str) -> Iterator[tuple[str | None, str]]:
    """The ids that a text cites, each with the name of the contract where that stands before it."""
    named: str | None = None
    end = 0
    for match in CITATION.finditer(text):
        found = match.groupdict()
        follows = re.fullmatch(r",? (?:and |with |to )?", text[end : match.start()]) is not None
        named = found["contract"] or (named if follows else None)
        end = match.end()
        if found["part"]:
            section = f"section {found['sections']} {found['part']}"
            yield from ((named, f"{section} {place}") for place in _spread(found["places"]))
        elif found["sections"]:
            yield from ((named, f"section {section}") for section in found["sections"].split(" and "))
        elif found["kind"]:
            yield from ((named, f"{found['kind'].lower()} {number}") for number in _spread(found["numbers"]))
        else:
            numbers = range(int(found["first"]), int(found["last"] or found["first"]) + 1)
            yield from ((named, f"{found['letters']}{number}") for number in numbers)


def named_after(source: str, contract: str) -> Iterator[tuple[int, str]]:
    """The rules and scenarios that tests are named after: `test_h17_…`, `test_rule_24_…`, `test_07_…`."""
    known = {re.sub(r"\d+$", "", rule) for rule in defined(contract)}
    for number, line in enumerate(source.splitlines(), start=1):
        if named := re.match(r"(?:async )?def test_(rule_)?([a-z]{1,2})?_?(\d+)_", line):
            rule, letters, place = named[1], (named[2] or "").upper(), int(named[3])
            prefix = "rule " if rule else next((each for each in (letters, f"{letters}-") if each in known), None)
            if letters and prefix is None:  # an API version, say
                continue
            yield number, f"{prefix or 'scenario '}{place}"


def _spread(numbers: str) -> Iterator[int]:
    """`5 to 7 and 11` is 5, 6, 7 and 11."""
    for part in re.split(r", | and ", numbers):
        first, _, last = part.partition(" to ")
        yield from range(int(first), int(last or first) + 1)
