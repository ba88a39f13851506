"""Flags are read as Go's flag package reads them."""

from __future__ import annotations

import pytest

from fairlead.cli.flags.go import parse, usage
from fairlead.cli.flags.leave import Leave
from fairlead.core.flags import Flag, Given
from fairlead.core.go_flag_kinds import BOOL, DURATION, FLOAT, INT, LIST, PROMETHEUS, STRING

NAME = Flag("name", STRING, "nobody", "Who it is.")
PORT = Flag("port", INT, 80, "Where it listens.")
RATE = Flag("rate", FLOAT, 0.0, "How often.")
LOUD = Flag("loud", BOOL, False, "Whether it shouts.")
PAUSE = Flag("pause", DURATION, 300.0, "How long it rests.")
LIFE = Flag("life", PROMETHEUS, 31536000.0, "How long it lives.")
FRIENDS = Flag("friends", LIST, (), "Whom it knows.")
ALL = (NAME, PORT, RATE, LOUD, PAUSE, LIFE, FRIENDS)


def read(*words: str) -> Given:
    return parse("tool", ALL, words)


def refused(*words: str) -> str:
    """The message that leads to exit code 2, without the usage below it."""
    with pytest.raises(Leave) as left:
        read(*words)
    message, rest = left.value.text.split("\n", 1)
    assert left.value.code == 2
    assert rest == usage("tool", ALL)
    return message


@pytest.mark.parametrize("words", [("-name=x",), ("--name=x",), ("-name", "x"), ("--name", "x")])
def test_one_dash_or_two_and_a_value_after_equals_or_as_the_next_word(words: tuple[str, ...]) -> None:
    assert read(*words)[NAME] == "x"


def test_a_value_may_look_like_a_flag_or_contain_equals() -> None:
    assert read("-name", "-loud")[NAME] == "-loud"
    assert read("-name=a=b")[NAME] == "a=b"
    assert read("-name=")[NAME] == ""


def test_the_last_of_several_values_counts() -> None:
    assert read("-name=a", "-name=b")[NAME] == "b"


def test_a_flag_that_is_not_given_has_its_default_and_is_not_among_the_given() -> None:
    parsed = read("-port=80")

    assert parsed[NAME] == "nobody"
    assert not parsed.has(NAME)
    assert parsed.has(PORT)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("-loud",), True),
        (("-loud=T",), True),
        (("-loud=1",), True),
        (("-loud=false",), False),
        (("-loud=F",), False),
        ((), False),
    ],
)
def test_a_boolean_needs_equals_to_be_unset(words: tuple[str, ...], value: bool) -> None:
    assert read(*words)[LOUD] is value


def test_the_word_after_a_boolean_is_not_its_value_but_ends_the_flags() -> None:
    parsed = read("-loud", "false", "-name=x")

    assert parsed[LOUD] is True
    assert parsed[NAME] == "nobody"
    assert parsed.rest == ("false", "-name=x")


@pytest.mark.parametrize("word", ["--", "-", "word"])
def test_two_dashes_or_the_first_word_that_is_no_flag_end_the_flags(word: str) -> None:
    parsed = read("-loud", word, "-name=x")

    assert not parsed.has(NAME)
    assert parsed.rest == (("-name=x",) if word == "--" else (word, "-name=x"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-8", -8),
        ("+8", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("0o17", 15),
        ("017", 15),
        ("0_7", 7),
        ("1_000", 1000),
    ],
)
def test_an_integer_may_be_written_in_any_base(text: str, value: int) -> None:
    assert read(f"-port={text}")[PORT] == value


@pytest.mark.parametrize(
    ("text", "value"), [("5", 5.0), (".5", 0.5), ("1e3", 1000.0), ("-0x1p-2", -0.25), ("Inf", 1e999)]
)
def test_a_float_may_be_written_in_any_way_of_go(text: str, value: float) -> None:
    assert read(f"-rate={text}")[RATE] == value


def test_durations_and_lists() -> None:
    parsed = read("-pause=1h30m", "-life=1d12h", "-friends=a, b,,c")

    assert parsed[PAUSE] == 5400.0
    assert parsed[LIFE] == 129600.0
    assert parsed[FRIENDS] == ("a", "b", "c")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-x",), "flag provided but not defined: -x"),
        (("--x=1",), "flag provided but not defined: -x"),
        (("-name",), "flag needs an argument: -name"),
        (("-port=x",), 'invalid value "x" for flag -port: parse error'),
        (("-port=08",), 'invalid value "08" for flag -port: parse error'),
        (("-port= 1",), 'invalid value " 1" for flag -port: parse error'),
        (("-port=1__0",), 'invalid value "1__0" for flag -port: parse error'),
        (("-port=9223372036854775808",), 'invalid value "9223372036854775808" for flag -port: value out of range'),
        (("-rate=1_0",), 'invalid value "1_0" for flag -rate: parse error'),
        (("-rate=1e999",), 'invalid value "1e999" for flag -rate: value out of range'),
        (("-rate=0x1p99999",), 'invalid value "0x1p99999" for flag -rate: value out of range'),
        (("-rate=+nan",), 'invalid value "+nan" for flag -rate: parse error'),
        (("-pause", "5"), 'invalid value "5" for flag -pause: parse error'),
        (("-pause=1d",), 'invalid value "1d" for flag -pause: parse error'),
        (("-loud=yes",), 'invalid boolean value "yes" for -loud: parse error'),
        (("-loud=",), 'invalid boolean value "" for -loud: parse error'),
        (("---name=x",), "bad flag syntax: ---name=x"),
        (("-=x",), "bad flag syntax: -=x"),
        (("--=x",), "bad flag syntax: --=x"),
    ],
)
def test_a_mistake_is_named_as_go_names_it_and_leaves_with_2(words: tuple[str, ...], message: str) -> None:
    assert refused(*words) == message


def test_a_digit_too_many_for_python_is_out_of_range_and_no_traceback() -> None:
    assert refused(f"-port={'9' * 5000}").endswith("value out of range")


@pytest.mark.parametrize("word", ["-h", "-help", "--help", "--h"])
def test_help_prints_the_usage_and_leaves_with_0(word: str) -> None:
    with pytest.raises(Leave) as left:
        read("-loud", word, "-x")

    assert left.value.code == 0
    assert left.value.text == usage("tool", ALL)


def test_the_usage_lists_flags_by_name_with_defaults_that_are_not_zero() -> None:
    assert usage("tool", (PORT, NAME, LOUD, PAUSE, LIFE)) == (
        "Usage of tool:\n"
        "  -life value\n    \tHow long it lives. (default 1y)\n"
        "  -loud\n    \tWhether it shouts.\n"
        '  -name string\n    \tWho it is. (default "nobody")\n'
        "  -pause duration\n    \tHow long it rests. (default 5m0s)\n"
        "  -port int\n    \tWhere it listens. (default 80)"
    )
