"""When an authority and its certificate are made again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.engine.decide.kept_authority import AuthorityFate, Keep, Renew, Sign, Worth, fate_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def worth(left: timedelta = 365 * DAY, since: timedelta = DAY) -> Worth:
    return Worth("", NOW - since, NOW + left)


GOOD = worth()


@pytest.mark.parametrize(
    ("authority", "certificate", "expected"),
    [
        pytest.param(GOOD, GOOD, Keep(), id="both serve"),
        pytest.param(worth(90 * DAY), worth(90 * DAY), Keep(), id="just long enough"),
        pytest.param(
            GOOD,
            worth(90 * DAY - timedelta(seconds=1)),
            Sign("the certificate is valid until 2030-03-31 23:59:59+00:00"),
            id="the certificate ends",
        ),
        pytest.param(
            worth(89 * DAY),
            GOOD,
            Renew("the authority is valid until 2030-03-31 00:00:00+00:00"),
            id="the authority ends",
        ),
        pytest.param(GOOD, Worth("cannot be read"), Sign("the certificate cannot be read"), id="a broken certificate"),
        pytest.param(Worth("is gone"), GOOD, Renew("the authority is gone"), id="no authority"),
        pytest.param(Worth("is gone"), Worth("is gone"), Renew("the authority is gone"), id="nothing"),
        pytest.param(
            GOOD,
            worth(since=-DAY),
            Sign("the certificate is not valid before 2030-01-02 00:00:00+00:00"),
            id="made by a clock that was ahead",
        ),
    ],
)
def test_what_lacks_something_is_made_again_and_nothing_else(
    authority: Worth, certificate: Worth, expected: AuthorityFate
) -> None:
    assert fate_of(authority, certificate, NOW) == expected
