"""A format whose parts would not come back is refused when it is loaded (section 2.6)."""

from __future__ import annotations

import pytest

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.decide.operations.format_proof import unproven
from tests.contracts.apiversions.decide.widgets import TEXT, made_of, to, two_versions, widget


@pytest.mark.parametrize(
    ("pattern", "template"),
    [
        (r"(?P<host>[^:]+):(?P<port>[0-9]{1,5})", "{host}:{port}"),
        (r"(?P<repo>.+):(?P<tag>[^:]*)", "{repo}:{tag}"),
        (r"v(?P<major>\d+)\.(?P<minor>\d+)(?:\.0)?", "v{major}.{minor}"),
        (r"(?P<kind>a|bc|[d-f]+)/(?P<name>\w+)", "{kind}/{name}"),
        (r"(?<year>\d{4})-(?<month>0[1-9]|1[0-2])", "{year}-{month}"),
        (r"(?i)(?P<a>x[(\])]y)=(?P<b>(?:p(q)?)*)", "{a}={b}"),
    ],
)
def test_formats_that_come_back_are_taken(pattern: str, template: str) -> None:
    assert unproven(pattern, template) == ""


@pytest.mark.parametrize(
    ("pattern", "template", "sentence"),
    [
        (r"(?P<repo>.+):(?P<tag>.+)", "{repo}:{tag}", "apart in another way"),
        (r"(?P<a>\d+)(?P<b>\d+)", "{a}{b}", "apart in another way"),
        (r"(?P<host>[^:]+):(?P<port>\d+)", "{port}:{host}", "which the pattern does not match"),
        (r"(?P<a>\pL+)", "{a}", "could be made up"),
    ],
)
def test_formats_that_do_not_are_refused_with_the_text(pattern: str, template: str, sentence: str) -> None:
    assert sentence in unproven(pattern, template)


def test_a_format_cuts_a_text_into_its_parts_and_puts_it_together() -> None:
    schemas = made_of(spec=made_of(address=TEXT)), made_of(spec=made_of(host=TEXT, port=TEXT))
    format_ = {"op": "format", "from": "/spec/address", "to": {"/spec/host": "h", "/spec/port": "p"}}
    pattern = {"pattern": "(?P<h>[^:]+):(?P<p>[0-9]+)", "template": "{h}:{p}"}
    kind = two_versions(*schemas, toHub=[{**format_, **pattern}])

    there = to("v2", widget("v1", spec={"address": "db:5432"}), kind)
    odd = widget("v1", spec={"address": "nowhere"})

    assert there["spec"] == {"host": "db", "port": "5432"}
    assert to("v1", there, kind)["spec"] == {"address": "db:5432"}
    assert to("v1", to("v2", odd, kind), kind)["spec"] == {"address": "nowhere"}
    assert [*self_test.problems(kind)] == []
