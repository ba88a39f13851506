"""Regular expressions of users mean what they mean to the server, and are refused in its words."""

from __future__ import annotations

import time

import pytest

from kubeloop.schemas.patterns import BadPattern, compiled, parts


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        pytest.param("^a$", "a\n", False, id="the end is the very end"),
        pytest.param("^a\\z", "a", True, id="the other word for the end"),
        pytest.param("^[$]$", "$", True, id="a dollar in a class is a dollar"),
        pytest.param("^\\$$", "$", True, id="an escaped dollar is a dollar"),
        pytest.param("^\\d$", "٣", False, id="digits are those of ASCII"),
        pytest.param("^[]$]+$", "]$", True, id="a class may begin with its end"),
        pytest.param("^[[:alpha:]_]+$", "a_Z", True, id="a class may have a name"),
        pytest.param("^[[:digit:]]+$", ":", False, id="the name of a class is not its content"),
        pytest.param("^[a[]+$", "[a", True, id="a bracket in a class is a bracket"),
        pytest.param(r"^\pL+$", "aé雪", True, id="letters are those of Unicode"),
        pytest.param(r"^.$", "雪", True, id="a character is one however many bytes it has"),
        pytest.param(r"^a\\1$", "a\\1", True, id="an escaped backslash is one"),
        pytest.param(r"^\Q(?<!\C\E$", r"(?<!\C", True, id="quoted text is text"),
        pytest.param(r"^[(?<!]$", "<", True, id="signs in a class are signs"),
        pytest.param("(?i)^É$", "é", True, id="case is that of Unicode"),
    ],
)
def test_patterns_mean_what_they_mean_to_the_server(pattern: str, text: str, matches: bool) -> None:
    assert compiled(pattern).is_in(text) is matches


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("x[a", "missing closing ]: `[a`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("((a{100}){100}){100}", "invalid repeat count: `{100}`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("x(?<!a)b", "invalid named capture: `(?<!a)b`"),
        ("(?<=a>b)", "invalid named capture: `(?<=a>`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_is_no_pattern_is_refused_in_the_words_of_go(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern) as refusal:
        compiled(pattern)

    assert str(refusal.value) == f"error parsing regexp: {why}"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a*", "baaac", ["", "aaa", ""]),
        ("", "é☃", ["", "", ""]),
        ("é?", "aéb", ["", "é", ""]),
        ("[0-9]+", "1a22é333", ["1", "22", "333"]),
        ("x", "abc", []),
    ],
)
def test_all_matches_are_those_of_go(pattern: str, text: str, found: list[str]) -> None:
    assert list(compiled(pattern).every(text)) == found
    assert compiled(pattern).first(text) == (found[0] if found else None)


def test_no_pattern_takes_time_that_grows_with_more_than_the_text() -> None:
    began = time.process_time()

    assert not compiled("^(a+)+$").is_in("a" * 5000 + "b")

    assert time.process_time() - began < 1


def test_groups_are_found_by_their_names_in_the_whole_text() -> None:
    found = parts("(?P<host>[^:]+)(?::(?P<port>[0-9]+))?")

    assert set(found.names) == {"host", "port"}
    assert found.of("dé:1") == {"host": "dé", "port": "1"}
    assert found.of("d") == {"host": "d"}
    assert found.of("d:x") is None
