"""What OpenKruise's manager 1.9.1 made of the scenarios of `recorded_clones`: per scenario and step its lines.

Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.
"""

from __future__ import annotations

RECORDED: dict[str, tuple[str, ...]] = {
    "scaled up and down": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 2 a>a
        clones cs 1(1) 2/0/0 new 2/0/0 of 2 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 2/1/1 new 2/1/1 of 2 a>a
        clones cs 1(1) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 2/2/2 new 2/2/2 of 2 a>a
        ? clones cs 2(2) 2/2/2 new 2/2/2 of 4 a>a
        clones cs 2(2) 4/2/2 new 4/2/2 of 4 a>a
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 2(2) 4/3/3 new 4/3/3 of 4 a>a
        pod cs a new:Normal ready:Normal""",
        """clones cs 3(2) 4/3/3 new 4/3/3 of 4 a>a
        ? clones cs 3(3) 4/3/3 new 4/3/3 of 1 a>a
        clones cs 3(3) 1/1/1 new 1/1/1 of 1 a>a
        pod cs a going gone
        pod cs a going gone
        pod cs a going gone""",
        """clones cs 4(3) 1/1/1 new 1/1/1 of 1 a>a
        ? clones cs 4(4) 1/1/1 new 1/1/1 of 0 a>a
        clones cs 4(4) 0/0/0 new 0/0/0 of 0 a>a
        pod cs a going gone""",
    ),
    "a partition in numbers": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 0 a>a
        clones cs 1(1) 5/0/0 new 5/0/0 of 0 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 5/1/1 new 5/1/1 of 0 a>a
        ? clones cs 1(1) 5/2/2 new 5/2/2 of 0 a>a
        ? clones cs 1(1) 5/3/3 new 5/3/3 of 0 a>a
        ? clones cs 1(1) 5/4/4 new 5/4/4 of 0 a>a
        clones cs 1(1) 5/5/5 new 5/5/5 of 0 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 5/5/5 new 5/5/5 of 0 a>a
        clones cs 2(2) 5/5/5 new 0/0/0 of 0 a>b
        revision b #2""",
        """clones cs 3(2) 5/5/5 new 0/0/0 of 0 a>b
        ? clones cs 3(3) 5/5/5 new 0/0/0 of 1 a>b
        ? clones cs 3(3) 4/4/4 new 0/0/0 of 1 a>b
        clones cs 3(3) 5/4/4 new 1/0/0 of 1 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 3(3) 5/5/5 new 1/1/1 of 1 a>b
        pod cs b new:Normal ready:Normal""",
        """clones cs 4(3) 5/5/5 new 1/1/1 of 1 a>b
        ? clones cs 4(4) 5/5/5 new 1/1/1 of 3 a>b
        ? clones cs 4(4) 3/3/3 new 1/1/1 of 3 a>b
        clones cs 4(4) 5/3/3 new 3/1/1 of 3 a>b
        pod cs a ready:Normal marked going gone
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal
        pod cs b new:PreparingNormal""",
        """clones cs 4(4) 5/4/4 new 3/2/2 of 3 a>b
        clones cs 4(4) 5/5/5 new 3/3/3 of 3 a>b
        pod cs b new:Normal ready:Normal
        pod cs b new:Normal ready:Normal""",
        """clones cs 5(4) 5/5/5 new 3/3/3 of 3 a>b
        clones cs 5(5) 5/5/5 new 3/3/3 of 2 a>b""",
        """clones cs 6(5) 5/5/5 new 3/3/3 of 2 a>b
        ? clones cs 6(6) 5/5/5 new 3/3/3 of 5 a>b
        ? clones cs 6(6) 3/3/3 new 3/3/3 of 5 a>b
        clones cs 6(6) 5/3/3 new 5/3/3 of 5 b>b
        pod cs a ready:Normal marked going gone
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal
        pod cs b new:PreparingNormal""",
        """clones cs 6(6) 5/4/4 new 5/4/4 of 5 b>b
        clones cs 6(6) 5/5/5 new 5/5/5 of 5 b>b
        pod cs b new:Normal ready:Normal
        pod cs b new:Normal ready:Normal""",
        """clones cs gone
        revision a gone
        revision b gone
        pod cs b going gone
        pod cs b going gone
        pod cs b going gone
        pod cs b going gone
        pod cs b going gone""",
    ),
    "a partition in percent": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 0 a>a
        clones cs 1(1) 4/0/0 new 4/0/0 of 0 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 4/1/1 new 4/1/1 of 0 a>a
        ? clones cs 1(1) 4/2/2 new 4/2/2 of 0 a>a
        ? clones cs 1(1) 4/3/3 new 4/3/3 of 0 a>a
        clones cs 1(1) 4/4/4 new 4/4/4 of 0 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 4/4/4 new 4/4/4 of 0 a>a
        clones cs 2(2) 4/4/4 new 0/0/0 of 0 a>b
        revision b #2""",
        """clones cs 3(2) 4/4/4 new 0/0/0 of 0 a>b
        ? clones cs 3(3) 4/4/4 new 0/0/0 of 1 a>b
        ? clones cs 3(3) 3/3/3 new 0/0/0 of 1 a>b
        clones cs 3(3) 4/3/3 new 1/0/0 of 1 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 3(3) 4/4/4 new 1/1/1 of 1 a>b
        pod cs b new:Normal ready:Normal""",
        """clones cs 4(3) 4/4/4 new 1/1/1 of 1 a>b
        ? clones cs 4(4) 4/4/4 new 1/1/1 of 2 a>b
        ? clones cs 4(4) 3/3/3 new 1/1/1 of 2 a>b
        clones cs 4(4) 4/3/3 new 2/1/1 of 2 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 4(4) 4/4/4 new 2/2/2 of 2 a>b
        pod cs b new:Normal ready:Normal""",
        """clones cs 5(4) 4/4/4 new 2/2/2 of 2 a>b
        ? clones cs 5(5) 4/4/4 new 2/2/2 of 4 a>b
        ? clones cs 5(5) 2/2/2 new 2/2/2 of 4 a>b
        clones cs 5(5) 4/2/2 new 4/2/2 of 4 b>b
        pod cs a ready:Normal marked going gone
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal
        pod cs b new:PreparingNormal""",
        """clones cs 5(5) 4/3/3 new 4/3/3 of 4 b>b
        clones cs 5(5) 4/4/4 new 4/4/4 of 4 b>b
        pod cs b new:Normal ready:Normal
        pod cs b new:Normal ready:Normal""",
    ),
    "paused, then the rest": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 3 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 3 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 3 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 3 a>a
        ? clones cs 2(2) 3/3/3 new 3/3/3 of 3 a>a
        ? clones cs 3(2) 3/3/3 new 3/3/3 of 3 a>a
        clones cs 3(3) 3/3/3 new 0/0/0 of 3 a>b
        revision b #2""",
        """clones cs 4(3) 3/3/3 new 0/0/0 of 3 a>b
        ? clones cs 4(4) 3/3/3 new 0/0/0 of 4 a>b
        clones cs 4(4) 4/3/3 new 1/0/0 of 4 a>b
        pod cs b new:PreparingNormal""",
        """clones cs 4(4) 4/4/4 new 1/1/1 of 4 a>b
        pod cs b new:Normal ready:Normal""",
        """clones cs 5(4) 4/4/4 new 1/1/1 of 4 a>b
        ? clones cs 5(5) 4/4/4 new 1/1/1 of 4 a>b
        ? clones cs 5(5) 1/1/1 new 1/1/1 of 4 a>b
        clones cs 5(5) 4/1/1 new 4/1/1 of 4 b>b
        pod cs a ready:Normal marked going gone
        pod cs a ready:Normal marked going gone
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal
        pod cs b new:PreparingNormal
        pod cs b new:PreparingNormal""",
        """clones cs 5(5) 4/2/2 new 4/2/2 of 4 b>b
        ? clones cs 5(5) 4/3/3 new 4/3/3 of 4 b>b
        clones cs 5(5) 4/4/4 new 4/4/4 of 4 b>b
        pod cs b new:Normal ready:Normal
        pod cs b new:Normal ready:Normal
        pod cs b new:Normal ready:Normal""",
    ),
    "paused with a partition": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 0 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 0 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 0 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 0 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 0 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 0 a>a
        clones cs 2(2) 3/3/3 new 0/0/0 of 0 a>b
        revision b #2""",
        """clones cs 3(2) 3/3/3 new 0/0/0 of 0 a>b
        clones cs 3(3) 3/3/3 new 0/0/0 of 0 a>b""",
        """clones cs 4(3) 3/3/3 new 0/0/0 of 0 a>b
        ? clones cs 4(4) 3/3/3 new 0/0/0 of 1 a>b
        ? clones cs 4(4) 2/2/2 new 0/0/0 of 1 a>b
        clones cs 4(4) 3/2/2 new 1/0/0 of 1 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 4(4) 3/3/3 new 1/1/1 of 1 a>b
        pod cs b new:Normal ready:Normal""",
        """clones cs 5(4) 3/3/3 new 1/1/1 of 1 a>b
        clones cs 5(5) 3/3/3 new 1/1/1 of 3 a>b""",
        """clones cs 6(5) 3/3/3 new 1/1/1 of 3 a>b
        ? clones cs 6(6) 3/3/3 new 1/1/1 of 3 a>b
        ? clones cs 6(6) 2/2/2 new 1/1/1 of 3 a>b
        clones cs 6(6) 3/2/2 new 2/1/1 of 3 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 6(6) 3/3/3 new 2/2/2 of 3 a>b
        ? clones cs 6(6) 2/2/2 new 2/2/2 of 3 a>b
        clones cs 6(6) 3/2/2 new 3/2/2 of 3 b>b
        pod cs a ready:Normal marked going gone
        pod cs b new:Normal ready:Normal
        pod cs b new:PreparingNormal""",
        """clones cs 6(6) 3/3/3 new 3/3/3 of 3 b>b
        pod cs b new:Normal ready:Normal""",
    ),
    "one at a time": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 3 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 3 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 3 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 3 a>a
        ? clones cs 2(2) 3/3/3 new 0/0/0 of 3 a>b
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 3 a>b
        clones cs 2(2) 3/2/2 new 1/0/0 of 3 a>b
        revision b #2
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 1/1/1 of 3 a>b
        ? clones cs 2(2) 2/2/2 new 1/1/1 of 3 a>b
        clones cs 2(2) 3/2/2 new 2/1/1 of 3 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:Normal ready:Normal
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 2/2/2 of 3 a>b
        ? clones cs 2(2) 2/2/2 new 2/2/2 of 3 a>b
        clones cs 2(2) 3/2/2 new 3/2/2 of 3 b>b
        pod cs a ready:Normal marked going gone
        pod cs b new:Normal ready:Normal
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 3/3/3 of 3 b>b
        pod cs b new:Normal ready:Normal""",
    ),
    "who is not ready goes first": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 3 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 3 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 3 a>a
        clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/2/2 new 3/2/2 of 3 a>a
        ? clones cs 2(2) 3/2/2 new 0/0/0 of 3 a>b
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 3 a>b
        clones cs 2(2) 3/2/2 new 1/0/0 of 3 a>b
        revision b #2
        pod cs a new:PreparingNormal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 1/1/1 of 3 a>b
        ? clones cs 2(2) 2/2/2 new 1/1/1 of 3 a>b
        clones cs 2(2) 3/2/2 new 2/1/1 of 3 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:Normal ready:Normal
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 2/2/2 of 3 a>b
        ? clones cs 2(2) 2/2/2 new 2/2/2 of 3 a>b
        clones cs 2(2) 3/2/2 new 3/2/2 of 3 b>b
        pod cs a ready:Normal marked going gone
        pod cs b new:Normal ready:Normal
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 3/3/3 of 3 b>b
        pod cs b new:Normal ready:Normal""",
    ),
    "one more before one less": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 2 a>a
        clones cs 1(1) 2/0/0 new 2/0/0 of 2 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 2/1/1 new 2/1/1 of 2 a>a
        clones cs 1(1) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 2/2/2 new 2/2/2 of 2 a>a
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 2 a>b
        clones cs 2(2) 3/2/2 new 1/0/0 of 2 a>b
        revision b #2
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 1/1/1 of 2 a>b
        ? clones cs 2(2) 2/2/2 new 1/1/1 of 2 a>b
        clones cs 2(2) 3/2/2 new 2/1/1 of 2 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:Normal ready:Normal
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 2/2/2 of 2 a>b
        clones cs 2(2) 2/2/2 new 2/2/2 of 2 b>b
        pod cs a going gone
        pod cs b new:Normal ready:Normal""",
        """clones cs gone
        revision a gone
        revision b gone
        pod cs b going gone
        pod cs b going gone""",
    ),
    "one more with a partition": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 1 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 1 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 1 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 1 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 1 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 1 a>a
        ? clones cs 2(2) 3/3/3 new 0/0/0 of 1 a>b
        clones cs 2(2) 4/3/3 new 1/0/0 of 1 a>b
        revision b #2
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 4/4/4 new 1/1/1 of 1 a>b
        clones cs 2(2) 3/3/3 new 1/1/1 of 1 a>b
        pod cs a going gone
        pod cs b new:Normal ready:Normal""",
        """clones cs 3(2) 3/3/3 new 1/1/1 of 1 a>b
        ? clones cs 3(3) 3/3/3 new 1/1/1 of 3 a>b
        clones cs 3(3) 4/3/3 new 2/1/1 of 3 a>b
        pod cs b new:PreparingNormal""",
        """clones cs 3(3) 4/4/4 new 2/2/2 of 3 a>b
        ? clones cs 3(3) 3/3/3 new 2/2/2 of 3 a>b
        clones cs 3(3) 4/3/3 new 3/2/2 of 3 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:Normal ready:Normal
        pod cs b new:PreparingNormal""",
        """clones cs 3(3) 4/4/4 new 3/3/3 of 3 a>b
        clones cs 3(3) 3/3/3 new 3/3/3 of 3 b>b
        pod cs a going gone
        pod cs b new:Normal ready:Normal""",
    ),
    "ready for a while": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 2 a>a
        clones cs 1(1) 2/0/0 new 2/0/0 of 2 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 2/1/0 new 2/1/0 of 2 a>a
        ? clones cs 1(1) 2/2/0 new 2/2/0 of 2 a>a
        ? clones cs 1(1) 2/2/1 new 2/2/1 of 2 a>a
        clones cs 1(1) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 2/2/2 new 2/2/2 of 2 a>a
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 2 a>b
        ? clones cs 2(2) 1/1/1 new 0/0/0 of 2 a>b
        clones cs 2(2) 2/1/1 new 1/0/0 of 2 a>b
        revision b #2
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 2/2/1 new 1/1/0 of 2 a>b
        ? clones cs 2(2) 2/2/2 new 1/1/1 of 2 a>b
        ? clones cs 2(2) 1/1/1 new 1/1/1 of 2 a>b
        clones cs 2(2) 2/1/1 new 2/1/1 of 2 b>b
        pod cs a ready:Normal marked going gone
        pod cs b new:Normal ready:Normal
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 2/2/1 new 2/2/1 of 2 b>b
        clones cs 2(2) 2/2/2 new 2/2/2 of 2 b>b
        pod cs b new:Normal ready:Normal""",
    ),
    "pods that are named": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 3 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 3 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 3 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 3 a>a naming 1
        ? clones cs 2(2) 3/3/3 new 3/3/3 of 2 a>a naming 1
        ? clones cs 2(2) 2/2/2 new 2/2/2 of 2 a>a naming 1
        ? clones cs 3(2) 2/2/2 new 2/2/2 of 2 a>a
        clones cs 3(3) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a going gone""",
        """clones cs 4(3) 2/2/2 new 2/2/2 of 2 a>a naming 1
        ? clones cs 4(4) 2/2/2 new 2/2/2 of 2 a>a naming 1
        ? clones cs 4(4) 1/1/1 new 1/1/1 of 2 a>a naming 1
        ? clones cs 4(4) 2/1/1 new 2/1/1 of 2 a>a naming 1
        ? clones cs 5(4) 2/1/1 new 2/1/1 of 2 a>a
        clones cs 5(5) 2/1/1 new 2/1/1 of 2 a>a
        pod cs a going gone
        pod cs a new:PreparingNormal""",
        """clones cs 5(5) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal""",
        """clones cs 5(5) 1/1/1 new 1/1/1 of 2 a>a
        clones cs 5(5) 2/1/1 new 2/1/1 of 2 a>a
        pod cs a new:PreparingNormal
        pod cs a ready:Normal marked going gone""",
        """clones cs 5(5) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal""",
    ),
    "named before others at a partition": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 1 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 1 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 1 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 1 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 1 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 1 a>a
        ? clones cs 2(2) 3/3/3 new 0/0/0 of 1 a>b
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 1 a>b
        clones cs 2(2) 3/2/2 new 1/0/0 of 1 a>b
        revision b #2
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 1/1/1 of 1 a>b
        pod cs b new:Normal ready:Normal""",
        """clones cs 3(2) 3/3/3 new 1/1/1 of 1 a>b naming 1
        ? clones cs 3(3) 3/3/3 new 1/1/1 of 0 a>b naming 1
        ? clones cs 3(3) 2/2/2 new 1/1/1 of 0 a>b naming 1
        ? clones cs 4(3) 2/2/2 new 1/1/1 of 0 a>b
        clones cs 4(4) 2/2/2 new 1/1/1 of 0 a>b
        pod cs a going gone""",
        """clones cs 5(4) 2/2/2 new 1/1/1 of 0 a>b
        ? clones cs 5(5) 2/2/2 new 1/1/1 of 0 a>b
        clones cs 5(5) 1/1/1 new 0/0/0 of 0 a>b
        pod cs b going gone""",
    ),
    "in place": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 3 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 3 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 3 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 3 a>a
        ? clones cs 2(2) 3/3/3 new 0/0/0 of 3 a>b
        clones cs 2(2) 3/1/1 new 2/0/0 of 3 a>b
        revision b #2
        pod cs a new:Normal b new:Updating
        pod cs a new:Normal b new:Updating""",
        """clones cs 2(2) 3/2/2 new 2/1/1 of 3 a>b
        ? clones cs 2(2) 3/1/1 new 3/1/1 of 3 b>b
        clones cs 2(2) 3/2/2 new 3/2/2 of 3 b>b
        pod cs a new:Normal b new:Updating
        pod cs b ready:Updating ready:Normal
        pod cs b ready:Updating ready:Normal""",
        """clones cs 2(2) 3/3/3 new 3/3/3 of 3 b>b
        pod cs b ready:Updating ready:Normal""",
        """clones cs 3(2) 3/3/3 new 3/3/3 of 3 b>b
        ? clones cs 3(3) 3/3/3 new 0/0/0 of 3 b>a
        clones cs 3(3) 3/1/1 new 2/0/0 of 3 b>a
        revision a #3
        pod cs b new:Normal a new:Updating
        pod cs b new:Normal a new:Updating""",
        """clones cs 3(3) 3/2/2 new 2/1/1 of 3 b>a
        ? clones cs 3(3) 3/1/1 new 3/1/1 of 3 a>a
        clones cs 3(3) 3/2/2 new 3/2/2 of 3 a>a
        pod cs a ready:Updating ready:Normal
        pod cs a ready:Updating ready:Normal
        pod cs b new:Normal a new:Updating""",
        """clones cs 3(3) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a ready:Updating ready:Normal""",
    ),
    "in place with a partition": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 0 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 0 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 0 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 0 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 0 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 0 a>a
        clones cs 2(2) 3/3/3 new 0/0/0 of 0 a>b
        revision b #2""",
        """clones cs 3(2) 3/3/3 new 0/0/0 of 0 a>b
        ? clones cs 3(3) 3/3/3 new 0/0/0 of 1 a>b
        clones cs 3(3) 3/2/2 new 1/0/0 of 1 a>b
        pod cs a new:Normal b new:Updating""",
        """clones cs 3(3) 3/3/3 new 1/1/1 of 1 a>b
        pod cs b ready:Updating ready:Normal""",
        """clones cs 4(3) 3/3/3 new 1/1/1 of 1 a>b
        ? clones cs 4(4) 3/3/3 new 1/1/1 of 3 a>b
        clones cs 4(4) 3/2/2 new 2/1/1 of 3 a>b
        pod cs a new:Normal b new:Updating""",
        """clones cs 4(4) 3/3/3 new 2/2/2 of 3 a>b
        clones cs 4(4) 3/2/2 new 3/2/2 of 3 b>b
        pod cs a new:Normal b new:Updating
        pod cs b ready:Updating ready:Normal""",
        """clones cs 4(4) 3/3/3 new 3/3/3 of 3 b>b
        pod cs b ready:Updating ready:Normal""",
    ),
    "labels in place, and what cannot be": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 2 a>a
        clones cs 1(1) 2/0/0 new 2/0/0 of 2 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 2/1/1 new 2/1/1 of 2 a>a
        clones cs 1(1) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 2/2/2 new 2/2/2 of 2 a>a
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 2 a>b
        clones cs 2(2) 2/0/0 new 2/0/0 of 2 b>b
        revision b #2
        pod cs a new:Normal b new:Updating new:Normal
        pod cs a new:Normal b new:Updating new:Normal""",
        """clones cs 2(2) 2/1/1 new 2/1/1 of 2 b>b
        clones cs 2(2) 2/2/2 new 2/2/2 of 2 b>b
        pod cs b ready:Normal
        pod cs b ready:Normal""",
        """clones cs 3(2) 2/2/2 new 2/2/2 of 2 b>b
        ? clones cs 3(3) 2/2/2 new 0/0/0 of 2 b>c
        ? clones cs 3(3) 0/0/0 new 0/0/0 of 2 b>c
        clones cs 3(3) 2/0/0 new 2/0/0 of 2 c>c
        revision c #3
        pod cs b ready:Normal marked going gone
        pod cs b ready:Normal marked going gone
        pod cs c new:PreparingNormal
        pod cs c new:PreparingNormal""",
        """clones cs 3(3) 2/1/1 new 2/1/1 of 2 c>c
        clones cs 3(3) 2/2/2 new 2/2/2 of 2 c>c
        pod cs c new:Normal ready:Normal
        pod cs c new:Normal ready:Normal""",
    ),
    "in place or not at all": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 2 a>a
        clones cs 1(1) 2/0/0 new 2/0/0 of 2 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 2/1/1 new 2/1/1 of 2 a>a
        clones cs 1(1) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 2/2/2 new 2/2/2 of 2 a>a
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 2 a>b
        clones cs 2(2) 2/0/0 new 2/0/0 of 2 b>b
        revision b #2
        pod cs a new:Normal b new:Updating
        pod cs a new:Normal b new:Updating""",
        """clones cs 2(2) 2/1/1 new 2/1/1 of 2 b>b
        clones cs 2(2) 2/2/2 new 2/2/2 of 2 b>b
        pod cs b ready:Updating ready:Normal
        pod cs b ready:Updating ready:Normal""",
    ),
    "in place before pods run": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 1 a>a
        clones cs 1(1) 1/0/0 new 1/0/0 of 1 a>a
        revision a #1
        pod cs a new:PreparingNormal""",
        """clones cs 2(1) 1/0/0 new 1/0/0 of 1 a>a
        ? clones cs 2(2) 1/0/0 new 0/0/0 of 1 a>b
        clones cs 2(2) 1/0/0 new 1/0/0 of 1 b>b
        revision b #2
        pod cs b new:Updating new:Normal""",
        """clones cs 2(2) 1/1/1 new 1/1/1 of 1 b>b
        pod cs b ready:Normal""",
    ),
    "taken back midway": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 2 a>a
        clones cs 1(1) 4/0/0 new 4/0/0 of 2 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 4/1/1 new 4/1/1 of 2 a>a
        ? clones cs 1(1) 4/2/2 new 4/2/2 of 2 a>a
        ? clones cs 1(1) 4/3/3 new 4/3/3 of 2 a>a
        clones cs 1(1) 4/4/4 new 4/4/4 of 2 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 4/4/4 new 4/4/4 of 2 a>a
        ? clones cs 2(2) 4/4/4 new 0/0/0 of 2 a>b
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 2 a>b
        clones cs 2(2) 4/2/2 new 2/0/0 of 2 a>b
        revision b #2
        pod cs a ready:Normal marked going gone
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 4/3/3 new 2/1/1 of 2 a>b
        clones cs 2(2) 4/4/4 new 2/2/2 of 2 a>b
        pod cs b new:Normal ready:Normal
        pod cs b new:Normal ready:Normal""",
        """clones cs 3(2) 4/4/4 new 2/2/2 of 2 a>b
        clones cs 3(3) 4/4/4 new 2/2/2 of 2 a>a
        revision a #3""",
        """""",
        """clones cs 4(3) 4/4/4 new 2/2/2 of 2 a>a
        ? clones cs 4(4) 4/4/4 new 2/2/2 of 4 a>a
        ? clones cs 4(4) 2/2/2 new 2/2/2 of 4 a>a
        clones cs 4(4) 4/2/2 new 4/2/2 of 4 a>a
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs b ready:Normal marked going gone
        pod cs b ready:Normal marked going gone""",
        """clones cs 4(4) 4/3/3 new 4/3/3 of 4 a>a
        clones cs 4(4) 4/4/4 new 4/4/4 of 4 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
    ),
    "changed again midway": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 3 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 3 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 3 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 3 a>a
        ? clones cs 2(2) 3/3/3 new 0/0/0 of 3 a>b
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 3 a>b
        clones cs 2(2) 3/2/2 new 1/0/0 of 3 a>b
        revision b #2
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 1/1/1 of 3 a>b
        ? clones cs 2(2) 2/2/2 new 1/1/1 of 3 a>b
        clones cs 2(2) 3/2/2 new 2/1/1 of 3 a>b
        pod cs a ready:Normal marked going gone
        pod cs b new:Normal ready:Normal
        pod cs b new:PreparingNormal""",
        """clones cs 3(2) 3/2/2 new 2/1/1 of 3 a>b
        ? clones cs 3(3) 3/2/2 new 0/0/0 of 3 a>c
        ? clones cs 3(3) 2/2/2 new 0/0/0 of 3 a>c
        clones cs 3(3) 3/2/2 new 1/0/0 of 3 a>c
        revision c #3
        pod cs b new:PreparingNormal marked going gone
        pod cs c new:PreparingNormal""",
        """clones cs 3(3) 3/3/3 new 1/1/1 of 3 a>c
        ? clones cs 3(3) 2/2/2 new 1/1/1 of 3 a>c
        clones cs 3(3) 3/2/2 new 2/1/1 of 3 a>c
        pod cs b ready:Normal marked going gone
        pod cs c new:Normal ready:Normal
        pod cs c new:PreparingNormal""",
        """clones cs 3(3) 3/3/3 new 2/2/2 of 3 a>c
        ? clones cs 3(3) 2/2/2 new 2/2/2 of 3 a>c
        clones cs 3(3) 3/2/2 new 3/2/2 of 3 c>c
        pod cs a ready:Normal marked going gone
        pod cs c new:Normal ready:Normal
        pod cs c new:PreparingNormal""",
        """clones cs 3(3) 3/3/3 new 3/3/3 of 3 c>c
        pod cs c new:Normal ready:Normal""",
    ),
    "scaled with a partition": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 1 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 1 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 1 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 1 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 1 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 3/3/3 new 3/3/3 of 1 a>a
        ? clones cs 2(2) 3/3/3 new 0/0/0 of 1 a>b
        ? clones cs 2(2) 2/2/2 new 0/0/0 of 1 a>b
        clones cs 2(2) 3/2/2 new 1/0/0 of 1 a>b
        revision b #2
        pod cs a ready:Normal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 2(2) 3/3/3 new 1/1/1 of 1 a>b
        pod cs b new:Normal ready:Normal""",
        """clones cs 3(2) 3/3/3 new 1/1/1 of 1 a>b
        ? clones cs 3(3) 3/3/3 new 1/1/1 of 3 a>b
        clones cs 3(3) 5/3/3 new 3/1/1 of 3 a>b
        pod cs b new:PreparingNormal
        pod cs b new:PreparingNormal""",
        """clones cs 3(3) 5/4/4 new 3/2/2 of 3 a>b
        clones cs 3(3) 5/5/5 new 3/3/3 of 3 a>b
        pod cs b new:Normal ready:Normal
        pod cs b new:Normal ready:Normal""",
        """clones cs 4(3) 5/5/5 new 3/3/3 of 3 a>b
        ? clones cs 4(4) 5/5/5 new 3/3/3 of 1 a>b
        clones cs 4(4) 3/3/3 new 1/1/1 of 1 a>b
        pod cs b going gone
        pod cs b going gone""",
        """clones cs 5(4) 3/3/3 new 1/1/1 of 1 a>b
        ? clones cs 5(5) 3/3/3 new 1/1/1 of 0 a>b
        clones cs 5(5) 1/1/1 new 0/0/0 of 0 a>b
        pod cs a going gone
        pod cs b going gone""",
    ),
    "pods that are lost": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 3 a>a
        clones cs 1(1) 3/0/0 new 3/0/0 of 3 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/1/1 new 3/1/1 of 3 a>a
        ? clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        clones cs 1(1) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 1(1) 2/2/2 new 2/2/2 of 3 a>a
        clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        pod cs a going gone
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a new:Normal ready:Normal""",
        """clones cs 1(1) 2/2/2 new 2/2/2 of 3 a>a
        clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        pod cs a failed:Normal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a new:Normal ready:Normal""",
    ),
    "a pod that is let go": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 2 a>a
        clones cs 1(1) 2/0/0 new 2/0/0 of 2 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 2/1/1 new 2/1/1 of 2 a>a
        clones cs 1(1) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 1(1) 1/1/1 new 1/1/1 of 2 a>a
        clones cs 1(1) 2/1/1 new 2/1/1 of 2 a>a
        pod cs a new:PreparingNormal
        pod cs a ready:Normal orphan""",
        """clones cs 1(1) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal""",
    ),
    "only so many new at once": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 3 a>a
        clones cs 1(1) 1/0/0 new 1/0/0 of 3 a>a
        revision a #1
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 1/1/1 new 1/1/1 of 3 a>a
        clones cs 1(1) 2/1/1 new 2/1/1 of 3 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 2/2/2 new 2/2/2 of 3 a>a
        clones cs 1(1) 3/2/2 new 3/2/2 of 3 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 3/3/3 new 3/3/3 of 3 a>a
        pod cs a new:Normal ready:Normal""",
    ),
    "revisions beyond the limit": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 1 a>a
        clones cs 1(1) 1/0/0 new 1/0/0 of 1 a>a
        revision a #1
        pod cs a new:PreparingNormal""",
        """clones cs 2(1) 1/0/0 new 1/0/0 of 1 a>a
        ? clones cs 2(2) 1/0/0 new 0/0/0 of 1 a>b
        ? clones cs 2(2) 0/0/0 new 0/0/0 of 1 a>b
        clones cs 2(2) 1/0/0 new 1/0/0 of 1 b>b
        revision b #2
        pod cs a new:PreparingNormal marked going gone
        pod cs b new:PreparingNormal""",
        """clones cs 3(2) 1/0/0 new 1/0/0 of 1 b>b
        ? clones cs 3(3) 1/0/0 new 0/0/0 of 1 b>c
        ? clones cs 3(3) 0/0/0 new 0/0/0 of 1 b>c
        clones cs 3(3) 1/0/0 new 1/0/0 of 1 c>c
        revision c #3
        revision a gone
        pod cs b new:PreparingNormal marked going gone
        pod cs c new:PreparingNormal""",
        """clones cs 4(3) 1/0/0 new 1/0/0 of 1 c>c
        ? clones cs 4(4) 1/0/0 new 0/0/0 of 1 c>d
        ? clones cs 4(4) 0/0/0 new 0/0/0 of 1 c>d
        clones cs 4(4) 1/0/0 new 1/0/0 of 1 d>d
        revision d #4
        revision b gone
        pod cs c new:PreparingNormal marked going gone
        pod cs d new:PreparingNormal""",
        """clones cs 5(4) 1/0/0 new 1/0/0 of 1 d>d
        ? clones cs 5(5) 1/0/0 new 0/0/0 of 1 d>b
        ? clones cs 5(5) 0/0/0 new 0/0/0 of 1 d>b
        clones cs 5(5) 1/0/0 new 1/0/0 of 1 b>b
        revision b #5
        revision c gone
        pod cs b new:PreparingNormal
        pod cs d new:PreparingNormal marked going gone""",
    ),
    "deleted without its pods": (
        """clones cs 1(0) 0/0/0 new 0/0/0 of 0 ->-
        ? clones cs 1(1) 0/0/0 new 0/0/0 of 2 a>a
        clones cs 1(1) 2/0/0 new 2/0/0 of 2 a>a
        revision a #1
        pod cs a new:PreparingNormal
        pod cs a new:PreparingNormal""",
        """clones cs 1(1) 2/1/1 new 2/1/1 of 2 a>a
        clones cs 1(1) 2/2/2 new 2/2/2 of 2 a>a
        pod cs a new:Normal ready:Normal
        pod cs a new:Normal ready:Normal""",
        """clones cs 2(1) 2/2/2 new 2/2/2 of 2 a>a going
        ? clones cs 2(2) 2/2/2 new 2/2/2 of 2 a>a going
        ? clones cs 2(2) 1/1/1 new 1/1/1 of 2 a>a going
        ? clones cs 2(2) 0/0/0 new 0/0/0 of 2 a>a going
        ? clones cs 2(2) 1/1/1 new 1/1/1 of 2 a>a going
        clones cs gone
        revision a #1 orphan
        pod cs a ready:Normal orphan
        pod cs a ready:Normal orphan""",
    ),
}
