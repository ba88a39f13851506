"""What kube-controller-manager 1.36.4 made of the scenarios of `recorded_daemons`: per scenario and step its lines.

Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.
"""

from __future__ import annotations

RECORDED: dict[str, tuple[str, ...]] = {
    "one pod per node": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        pod da a ready""",
        """daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready""",
        """daemons da gone
        revision a gone
        pod da a going gone
        pod da a going gone""",
    ),
    "a rolling update, one node at a time": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        ? daemons da 1(1) 2:0 ready 0 new 0 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 2(1) 2:2 ready 2 new 2 up 2
        ? daemons da 2(2) 2:2 ready 2 new 0 up 2
        ? daemons da 2(2) 2:1 ready 1 new 0 up 1
        ? daemons da 2(2) 2:2 ready 2 new 0 up 2
        daemons da 2(2) 2:2 ready 1 new 1 up 1
        revision b #2
        pod da a going gone
        pod da b new""",
        """? daemons da 2(2) 2:2 ready 2 new 1 up 2
        ? daemons da 2(2) 2:1 ready 1 new 1 up 1
        daemons da 2(2) 2:2 ready 1 new 2 up 1
        pod da a going gone
        pod da b new
        pod da b ready""",
        """daemons da 2(2) 2:2 ready 2 new 2 up 2
        pod da b ready""",
        """daemons da gone
        revision a gone
        revision b gone
        pod da b going gone
        pod da b going gone""",
    ),
    "a rolling update of all nodes at once": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 2(1) 2:2 ready 2 new 2 up 2
        ? daemons da 2(2) 2:0 ready 0 new 0 up 0
        ? daemons da 2(2) 2:2 ready 2 new 0 up 2
        ? daemons da 2(2) 2:1 ready 1 new 0 up 1
        ? daemons da 2(2) 2:1 ready 0 new 1 up 0
        daemons da 2(2) 2:2 ready 0 new 2 up 0
        revision b #2
        pod da a going gone
        pod da a going gone
        pod da b new
        pod da b new""",
        """daemons da 2(2) 2:2 ready 1 new 2 up 1
        daemons da 2(2) 2:2 ready 2 new 2 up 2
        pod da b ready
        pod da b ready""",
        """daemons da gone
        revision b gone
        revision a gone
        pod da b going gone
        pod da b going gone""",
    ),
    "a rolling update by surge": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        ? daemons da 1(1) 0:0 ready 0 new 0 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 2(1) 2:2 ready 2 new 2 up 2
        daemons da 2(2) 2:2 ready 2 new 0 up 2
        revision b #2
        pod da b new""",
        """daemons da 2(2) 2:2 ready 2 new 1 up 2
        pod da a going gone
        pod da b new
        pod da b ready""",
        """daemons da 2(2) 2:2 ready 2 new 2 up 2
        pod da a going gone
        pod da b ready""",
        """daemons da gone
        revision a gone
        revision b gone
        pod da b going gone
        pod da b going gone""",
    ),
    "pods deleted by hand after a change of the template": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 2(1) 2:2 ready 2 new 2 up 2
        daemons da 2(2) 2:2 ready 2 new 0 up 2
        revision b #2""",
        """? daemons da 2(2) 2:1 ready 1 new 0 up 1
        daemons da 2(2) 2:2 ready 1 new 1 up 1
        pod da a going gone
        pod da b new""",
        """daemons da 2(2) 2:2 ready 2 new 1 up 2
        pod da b ready""",
        """daemons da gone
        revision b gone
        revision a gone
        pod da a going gone
        pod da b going gone""",
    ),
    "a template that is taken back, and history": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 2(1) 2:2 ready 2 new 2 up 2
        ? daemons da 2(2) 2:1 ready 1 new 0 up 1
        ? daemons da 2(2) 2:2 ready 2 new 0 up 2
        ? daemons da 2(2) 2:0 ready 0 new 0 up 0
        ? daemons da 2(2) 2:1 ready 0 new 1 up 0
        daemons da 2(2) 2:2 ready 0 new 2 up 0
        revision b #2
        pod da a going gone
        pod da a going gone
        pod da b new
        pod da b new""",
        """daemons da 2(2) 2:2 ready 1 new 2 up 1
        daemons da 2(2) 2:2 ready 2 new 2 up 2
        pod da b ready
        pod da b ready""",
        """daemons da 3(2) 2:2 ready 2 new 2 up 2
        ? daemons da 3(3) 2:2 ready 2 new 0 up 2
        ? daemons da 3(3) 2:1 ready 1 new 0 up 1
        ? daemons da 3(3) 2:0 ready 0 new 0 up 0
        ? daemons da 3(3) 2:1 ready 0 new 1 up 0
        ? daemons da 3(3) 2:0 ready 0 new 0 up 0
        ? daemons da 3(3) 2:1 ready 1 new 0 up 1
        daemons da 3(3) 2:2 ready 0 new 2 up 0
        revision a #3
        pod da a new
        pod da a new
        pod da b going gone
        pod da b going gone""",
        """daemons da 3(3) 2:2 ready 1 new 2 up 1
        daemons da 3(3) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 4(3) 2:2 ready 2 new 2 up 2
        ? daemons da 4(4) 2:0 ready 0 new 0 up 0
        ? daemons da 4(4) 2:1 ready 0 new 1 up 0
        ? daemons da 4(4) 2:2 ready 2 new 0 up 2
        daemons da 4(4) 2:2 ready 0 new 2 up 0
        revision c #4
        revision b gone
        pod da a going gone
        pod da a going gone
        pod da c new
        pod da c new""",
        """daemons da 4(4) 2:2 ready 1 new 2 up 1
        daemons da 4(4) 2:2 ready 2 new 2 up 2
        pod da c ready
        pod da c ready""",
        """daemons da gone
        revision c gone
        revision a gone
        pod da c going gone
        pod da c going gone""",
    ),
    "a rolling update that is overtaken by another": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 2(1) 2:2 ready 2 new 2 up 2
        ? daemons da 2(2) 2:1 ready 1 new 0 up 1
        ? daemons da 2(2) 2:2 ready 2 new 0 up 2
        daemons da 2(2) 2:2 ready 1 new 1 up 1
        revision b #2
        pod da a going gone
        pod da b new""",
        """daemons da 3(2) 2:2 ready 1 new 1 up 1
        ? daemons da 3(3) 2:2 ready 1 new 0 up 1
        ? daemons da 3(3) 2:1 ready 1 new 0 up 1
        ? daemons da 3(3) 2:2 ready 1 new 0 up 1
        daemons da 3(3) 2:2 ready 1 new 1 up 1
        revision c #3
        pod da b going gone
        pod da c new""",
        """? daemons da 3(3) 2:2 ready 2 new 1 up 2
        ? daemons da 3(3) 2:1 ready 1 new 1 up 1
        daemons da 3(3) 2:2 ready 1 new 2 up 1
        pod da a going gone
        pod da c new
        pod da c ready""",
        """daemons da 3(3) 2:2 ready 2 new 2 up 2
        pod da c ready""",
        """daemons da gone
        revision c gone
        revision a gone
        revision b gone
        pod da c going gone
        pod da c going gone""",
    ),
    "nodes that come and change": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """? daemons da 1(1) 3:2 ready 2 new 2 up 2
        daemons da 1(1) 3:3 ready 2 new 3 up 2
        pod da a new""",
        """""",
        """daemons da 2(1) 3:3 ready 2 new 3 up 2
        ? daemons da 2(2) 2:2 ready 1 new 0 up 1
        ? daemons da 2(2) 2:2 ready 1 new 0 up 1 misplaced 1
        ? daemons da 2(2) 2:1 ready 1 new 0 up 1
        daemons da 2(2) 2:2 ready 1 new 1 up 1
        revision b #2
        pod da a going gone
        pod da a going gone
        pod da b new""",
        """daemons da gone
        revision a gone
        revision b gone
        pod da a going gone
        pod da b going gone""",
    ),
    "a daemon that fails": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 1(1) 2:1 ready 1 new 1 up 1
        daemons da 1(1) 2:2 ready 1 new 2 up 1
        pod da a failed going gone
        pod da a new""",
        """daemons da gone
        revision a gone
        pod da a going gone
        pod da a going gone""",
    ),
    "a daemon that leaves by its labels": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """? daemons da 1(1) 2:1 ready 1 new 1 up 1
        daemons da 1(1) 2:2 ready 1 new 2 up 1
        pod da a new
        pod da a ready orphan""",
        """daemons da gone
        revision a gone
        pod da a going gone
        pod da a going gone""",
    ),
    "daemons left behind and taken on again": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 2(1) 2:2 ready 2 new 2 up 2 going
        daemons da gone
        revision a #1 orphan
        pod da a ready orphan
        pod da a ready orphan""",
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        revision a #1
        pod da a ready
        pod da a ready""",
        """daemons da 2(1) 2:2 ready 2 new 2 up 2 going
        daemons da gone
        revision a gone
        pod da a going gone
        pod da a going gone""",
    ),
    "daemons that must stay ready for a while": (
        """daemons da 1(0) 0:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:0 ready 0 new 0 up 0
        ? daemons da 1(1) 2:1 ready 0 new 1 up 0
        daemons da 1(1) 2:2 ready 0 new 2 up 0
        revision a #1
        pod da a new
        pod da a new""",
        """daemons da 1(1) 2:2 ready 1 new 2 up 0
        ? daemons da 1(1) 2:2 ready 2 new 2 up 0
        ? daemons da 1(1) 2:2 ready 2 new 2 up 1
        daemons da 1(1) 2:2 ready 2 new 2 up 2
        pod da a ready
        pod da a ready""",
        """daemons da 2(1) 2:2 ready 2 new 2 up 2
        ? daemons da 2(2) 2:2 ready 2 new 0 up 2
        ? daemons da 2(2) 2:1 ready 1 new 0 up 1
        daemons da 2(2) 2:2 ready 1 new 1 up 1
        revision b #2
        pod da a going gone
        pod da b new""",
        """daemons da 2(2) 2:2 ready 2 new 1 up 1
        ? daemons da 2(2) 2:1 ready 1 new 1 up 1
        ? daemons da 2(2) 2:2 ready 2 new 1 up 2
        daemons da 2(2) 2:2 ready 1 new 2 up 1
        pod da a going gone
        pod da b new
        pod da b ready""",
        """daemons da 2(2) 2:2 ready 2 new 2 up 1
        daemons da 2(2) 2:2 ready 2 new 2 up 2
        pod da b ready""",
        """daemons da gone
        revision a gone
        revision b gone
        pod da b going gone
        pod da b going gone""",
    ),
}
