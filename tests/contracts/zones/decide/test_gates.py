from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.zones.decide.phased.gates import Gate, GateMark, digest_of, gate_of, is_phased, mark_of
from fairlead.contracts.zones.kinds import DEPENDS_ON, GATE, PHASED, RESTART_THRESHOLD, RESUME, REVISION, SOAK_DURATION

DIGESTS = st.text("0123456789abcdef", min_size=12, max_size=12)
MARKS = st.builds(
    GateMark, st.sampled_from(["held", "blocked", "passed"]), DIGESTS, st.one_of(st.just(""), DIGESTS), st.booleans()
)


@given(MARKS)
def test_mark_is_read_as_it_was_written(mark: GateMark) -> None:
    assert mark_of({GATE: str(mark)}) == mark


@given(st.text(max_size=40))
def test_what_is_no_mark_is_none(text: str) -> None:
    found = mark_of({GATE: text})

    assert found is None or str(found) == text


def test_no_annotation_is_no_mark() -> None:
    assert mark_of({}) is None


@pytest.mark.parametrize(("label", "phased"), [("true", True), ("True", False), ("", False), ("1", False)])
def test_only_the_exact_word_makes_a_deployment_phased(label: str, phased: bool) -> None:
    assert is_phased({PHASED: label}) is phased
    assert is_phased({}) is False


def test_defaults_are_five_minutes_and_a_tenth() -> None:
    assert gate_of({}) == Gate("", "", "", 300.0, Fraction(1, 10))


def test_every_annotation_counts_without_the_space_around_it() -> None:
    gate = gate_of(
        {
            DEPENDS_ON: " canary ",
            REVISION: " v2\n",
            RESUME: " v1 ",
            SOAK_DURATION: " 1h30m ",
            RESTART_THRESHOLD: " 25% ",
        }
    )

    assert gate == Gate("canary", "v2", "v1", 5400.0, Fraction(1, 4))


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("10%", Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("0%", Fraction(0)),
        ("0", Fraction(0)),
        ("1", Fraction(1)),
        ("100%", Fraction(1)),
        ("2.5%", Fraction(1, 40)),
    ],
)
def test_threshold_is_a_percentage_or_a_share(text: str, share: Fraction) -> None:
    assert gate_of({RESTART_THRESHOLD: text}).threshold == share


@pytest.mark.parametrize("text", ["10", "101%", "-1%", "ten", "1e1%", "%", "5%%", "٣%", "9" * 5000])
def test_threshold_that_is_no_share_is_told(text: str) -> None:
    gate = gate_of({RESTART_THRESHOLD: text})

    (problem,) = gate.problems
    assert RESTART_THRESHOLD in problem
    assert "write a share such as 10% or 0.1" in problem
    assert len(problem) < 200


@pytest.mark.parametrize("text", ["5", "1h 30m", "-5m", "soon", "1.5h"])
def test_soak_that_is_no_duration_is_told(text: str) -> None:
    (problem,) = gate_of({SOAK_DURATION: text}).problems

    assert problem.startswith(f"annotation {SOAK_DURATION}: ")


def test_person_resumes_by_the_revision_and_without_one_by_the_template() -> None:
    with_revision, without = gate_of({REVISION: "v2", RESUME: "v2"}), gate_of({RESUME: "0123456789ab"})

    assert with_revision.is_resumed("0123456789ab")
    assert without.is_resumed("0123456789ab")
    assert not gate_of({REVISION: "v2", RESUME: "v1"}).is_resumed("v1")
    assert not without.is_resumed("another")
    assert not gate_of({REVISION: "v2"}).is_resumed("")
    assert not gate_of({}).is_resumed("")


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 3), min_size=2, max_size=4))
def test_digest_does_not_depend_on_the_order_of_keys(template: dict[str, int]) -> None:
    turned = dict(reversed(template.items()))
    changed = template | {min(template): 9}

    assert digest_of(turned) == digest_of(template) != digest_of(changed)
    assert mark_of({GATE: f"held {digest_of(template)}"}) is not None
    assert msgspec.json.encode(turned) != msgspec.json.encode(template)
