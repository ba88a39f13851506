"""What kube-controller-manager 1.36.4 was seen to do with a Deployment that changes.

Both clusters must show these lines (see `deploying`): all that are sure, in this order for each object, and no others.
Lines after a question mark are statuses of a moment, which a busy controller skips.
"""

from __future__ import annotations

from tests.kubesim.controllers.deploying import Step

ONE_MORE = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
ONE_UNAVAILABLE = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}

TWO_READY: tuple[Step, ...] = (
    (
        lambda stage: stage.make(),
        """roll 1(0) #- 0/0/0/0
        ? roll 1(0) #1 0/0/0/0 moving
        ? roll 1(1) #1 0/0/0/0 -moving
        roll 1(1) #1 2/2/0/0 -moving
        set a #1 2:0/0/0
        set a #1 2:2/0/0
        pod a new
        pod a new""",
    ),
    (
        lambda stage: stage.make_ready(),
        """roll 1(1) #1 2/2/1/1 -moving
        set a #1 2:2/1/1
        pod a ready""",
    ),
    (
        lambda stage: stage.make_ready(),
        """roll 1(1) #1 2/2/2/2 +complete
        set a #1 2:2/2/2
        pod a ready""",
    ),
)

ROLLOUTS: dict[str, tuple[Step, ...]] = {
    "a rollout by surge, and back": (
        *TWO_READY,
        (
            lambda stage: stage.change_image("i:2"),
            """roll 2(1) #1 2/2/2/2 +complete
            ? roll 2(1) #2 2/2/2/2 +moving
            ? roll 2(2) #2 2/0/2/2 +moving
            roll 2(2) #2 3/1/2/2 +moving
            set b #2 1:0/0/0
            set b #2 1:1/0/0
            pod b new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 2(2) #2 3/1/3/3 +moving
            ? roll 2(2) #2 2/1/2/2 +moving
            roll 2(2) #2 3/2/2/2 +moving
            set a #1 1:2/2/2
            set a #1 1:1/1/1
            set b #2 1:1/1/1
            set b #2 2:1/1/1
            set b #2 2:2/1/1
            pod a going gone
            pod b new
            pod b ready""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 2(2) #2 3/2/3/3 +moving
            roll 2(2) #2 2/2/2/2 +complete
            set a #1 0:1/1/1
            set a #1 0:0/0/0
            set b #2 2:2/2/2
            pod a going gone
            pod b ready""",
        ),
        (
            lambda stage: stage.change_image("i:1"),
            """roll 3(2) #2 2/2/2/2 +complete
            ? roll 3(2) #3 2/2/2/2 +complete
            ? roll 3(3) #3 2/0/2/2 +moving
            roll 3(3) #3 3/1/2/2 +moving
            set a #3 0:0/0/0
            set a #3 1:0/0/0
            set a #3 1:1/0/0
            pod a new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 3(3) #3 3/1/3/3 +moving
            ? roll 3(3) #3 2/1/2/2 +moving
            roll 3(3) #3 3/2/2/2 +moving
            set a #3 1:1/1/1
            set a #3 2:1/1/1
            set a #3 2:2/1/1
            set b #2 1:2/2/2
            set b #2 1:1/1/1
            pod a new
            pod a ready
            pod b going gone""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 3(3) #3 3/2/3/3 +moving
            roll 3(3) #3 2/2/2/2 +complete
            set a #3 2:2/2/2
            set b #2 0:1/1/1
            set b #2 0:0/0/0
            pod a ready
            pod b going gone""",
        ),
    ),
    "more pods and fewer": (
        *TWO_READY,
        (
            lambda stage: stage.change(replicas=3),
            """roll 2(1) #1 2/2/2/2 +complete
            ? roll 2(2) #1 2/2/2/2 -complete
            roll 2(2) #1 3/3/2/2 -complete
            set a #1 3:2/2/2
            set a #1 3:3/2/2
            pod a new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 2(2) #1 3/3/3/3 +complete
            set a #1 3:3/3/3
            pod a ready""",
        ),
        (
            lambda stage: stage.change(replicas=2),
            """roll 3(2) #1 3/3/3/3 +complete
            ? roll 3(3) #1 3/3/3/3 +complete
            roll 3(3) #1 2/2/2/2 +complete
            set a #1 2:3/3/3
            set a #1 2:2/2/2
            pod a going gone""",
        ),
        (
            lambda stage: stage.change(replicas=0),
            """roll 4(3) #1 2/2/2/2 +complete
            ? roll 4(4) #1 2/2/2/2 +complete
            ? roll 4(4) #1 1/1/1/1 +complete
            roll 4(4) #1 0/0/0/0 +complete
            set a #1 0:2/2/2
            ? set a #1 0:1/1/1
            set a #1 0:0/0/0
            pod a going gone
            pod a going gone""",
        ),
    ),
    "one unavailable and no surge": (
        (
            lambda stage: stage.make(strategy=ONE_UNAVAILABLE),
            """roll 1(0) #- 0/0/0/0
            ? roll 1(0) #1 0/0/0/0 moving
            ? roll 1(1) #1 0/0/0/0 -moving
            roll 1(1) #1 2/2/0/0 -moving
            set a #1 2:0/0/0
            set a #1 2:2/0/0
            pod a new
            pod a new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 1(1) #1 2/2/1/1 +moving
            set a #1 2:2/1/1
            pod a ready""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 1(1) #1 2/2/2/2 +complete
            set a #1 2:2/2/2
            pod a ready""",
        ),
        (
            lambda stage: stage.change_image("i:2"),
            """roll 2(1) #1 2/2/2/2 +complete
            ? roll 2(1) #2 2/2/2/2 +moving
            ? roll 2(2) #2 2/0/2/2 +moving
            ? roll 2(2) #2 1/0/1/1 +moving
            roll 2(2) #2 2/1/1/1 +moving
            set a #1 1:2/2/2
            set a #1 1:1/1/1
            set b #2 0:0/0/0
            set b #2 1:0/0/0
            set b #2 1:1/0/0
            pod a going gone
            pod b new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 2(2) #2 2/1/2/2 +moving
            ? roll 2(2) #2 1/1/1/1 +moving
            roll 2(2) #2 2/2/1/1 +moving
            set a #1 0:1/1/1
            set a #1 0:0/0/0
            set b #2 1:1/1/1
            set b #2 2:1/1/1
            set b #2 2:2/1/1
            pod a going gone
            pod b new
            pod b ready""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 2(2) #2 2/2/2/2 +complete
            set b #2 2:2/2/2
            pod b ready""",
        ),
    ),
    "all old pods go first": (
        (
            lambda stage: stage.make(1, strategy={"type": "Recreate"}),
            """roll 1(0) #- 0/0/0/0
            ? roll 1(0) #1 0/0/0/0 moving
            ? roll 1(1) #1 0/0/0/0 -moving
            roll 1(1) #1 1/1/0/0 -moving
            set a #1 1:0/0/0
            set a #1 1:1/0/0
            pod a new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 1(1) #1 1/1/1/1 +complete
            set a #1 1:1/1/1
            pod a ready""",
        ),
        (
            lambda stage: stage.change_image("i:2"),
            """roll 2(1) #1 1/1/1/1 +complete
            ? roll 2(2) #1 1/0/1/1 +moving
            ? roll 2(2) #1 0/0/0/0 -complete
            ? roll 2(2) #2 1/0/1/1 +moving
            ? roll 2(2) #2 0/0/0/0 -moving
            roll 2(2) #2 1/1/0/0 -moving
            set a #1 0:1/1/1
            set a #1 0:0/0/0
            set b #2 1:0/0/0
            set b #2 1:1/0/0
            pod a going gone
            pod b new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 2(2) #2 1/1/1/1 +complete
            set b #2 1:1/1/1
            pod b ready""",
        ),
    ),
    "a rollout that is overtaken by another": (
        *TWO_READY,
        (
            lambda stage: stage.change_image("i:2"),
            """roll 2(1) #1 2/2/2/2 +complete
            ? roll 2(1) #2 2/2/2/2 +moving
            ? roll 2(2) #2 2/0/2/2 +moving
            roll 2(2) #2 3/1/2/2 +moving
            set b #2 1:0/0/0
            set b #2 1:1/0/0
            pod b new""",
        ),
        (
            lambda stage: stage.change_image("i:3"),
            """roll 3(2) #2 3/1/2/2 +moving
            ? roll 3(2) #3 3/1/2/2 +moving
            ? roll 3(3) #3 3/0/2/2 +moving
            ? roll 3(3) #3 2/0/2/2 +moving
            roll 3(3) #3 3/1/2/2 +moving
            set b #2 0:1/0/0
            set b #2 0:0/0/0
            set c #3 0:0/0/0
            set c #3 1:0/0/0
            set c #3 1:1/0/0
            pod b going gone
            pod c new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 3(3) #3 3/1/3/3 +moving
            ? roll 3(3) #3 2/1/2/2 +moving
            roll 3(3) #3 3/2/2/2 +moving
            set a #1 1:2/2/2
            set a #1 1:1/1/1
            set c #3 1:1/1/1
            set c #3 2:1/1/1
            set c #3 2:2/1/1
            pod a going gone
            pod c new
            pod c ready""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 3(3) #3 3/2/3/3 +moving
            roll 3(3) #3 2/2/2/2 +complete
            set a #1 0:1/1/1
            set a #1 0:0/0/0
            set c #3 2:2/2/2
            pod a going gone
            pod c ready""",
        ),
    ),
    "a pause, and changes in it": (
        *TWO_READY,
        (
            lambda stage: stage.change(paused=True),
            """roll 2(1) #1 2/2/2/2 +complete
            ? roll 2(1) #1 2/2/2/2 +paused
            roll 2(2) #1 2/2/2/2 +paused""",
        ),
        (
            lambda stage: stage.change_image("i:2"),
            """roll 3(2) #1 2/2/2/2 +paused
            roll 3(3) #1 2/0/2/2 +paused""",
        ),
        (
            lambda stage: stage.change(replicas=3),
            """roll 4(3) #1 2/0/2/2 +paused
            ? roll 4(4) #1 2/0/2/2 -paused
            roll 4(4) #1 3/0/2/2 -paused
            set a #1 3:2/2/2
            set a #1 3:3/2/2
            pod a new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 4(4) #1 3/0/3/3 +paused
            set a #1 3:3/3/3
            pod a ready""",
        ),
        (
            lambda stage: stage.change(paused=False),
            """roll 5(4) #1 3/0/3/3 +paused
            ? roll 5(4) #1 3/0/3/3 +resumed
            ? roll 5(4) #2 3/0/3/3 +resumed
            ? roll 5(5) #2 3/0/3/3 +resumed
            roll 5(5) #2 4/1/3/3 +moving
            set b #2 1:0/0/0
            set b #2 1:1/0/0
            pod b new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 5(5) #2 4/1/4/4 +moving
            ? roll 5(5) #2 3/1/3/3 +moving
            roll 5(5) #2 4/2/3/3 +moving
            set a #1 2:3/3/3
            set a #1 2:2/2/2
            set b #2 1:1/1/1
            set b #2 2:1/1/1
            set b #2 2:2/1/1
            pod a going gone
            pod b new
            pod b ready""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 5(5) #2 4/2/4/4 +moving
            ? roll 5(5) #2 3/2/3/3 +moving
            roll 5(5) #2 4/3/3/3 +moving
            set a #1 1:2/2/2
            set a #1 1:1/1/1
            set b #2 2:2/2/2
            set b #2 3:2/2/2
            set b #2 3:3/2/2
            pod a going gone
            pod b new
            pod b ready""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 5(5) #2 4/3/4/4 +moving
            roll 5(5) #2 3/3/3/3 +complete
            set a #1 0:1/1/1
            set a #1 0:0/0/0
            set b #2 3:3/3/3
            pod a going gone
            pod b ready""",
        ),
    ),
    "another size in the middle of a rollout": (
        (
            lambda stage: stage.make(3, strategy=ONE_MORE),
            """roll 1(0) #- 0/0/0/0
            ? roll 1(0) #1 0/0/0/0 moving
            ? roll 1(1) #1 0/0/0/0 -moving
            roll 1(1) #1 3/3/0/0 -moving
            set a #1 3:0/0/0
            set a #1 3:3/0/0
            pod a new
            pod a new
            pod a new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 1(1) #1 3/3/1/1 -moving
            set a #1 3:3/1/1
            pod a ready""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 1(1) #1 3/3/2/2 -moving
            set a #1 3:3/2/2
            pod a ready""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 1(1) #1 3/3/3/3 +complete
            set a #1 3:3/3/3
            pod a ready""",
        ),
        (
            lambda stage: stage.change_image("i:2"),
            """roll 2(1) #1 3/3/3/3 +complete
            ? roll 2(1) #2 3/3/3/3 +moving
            ? roll 2(2) #2 3/0/3/3 +moving
            roll 2(2) #2 4/1/3/3 +moving
            set b #2 1:0/0/0
            set b #2 1:1/0/0
            pod b new""",
        ),
        (
            lambda stage: stage.change(replicas=6),
            """roll 3(2) #2 4/1/3/3 +moving
            ? roll 3(3) #2 4/1/3/3 -moving
            ? roll 3(3) #2 6/1/3/3 -moving
            ? roll 3(3) #2 5/2/3/3 -moving
            roll 3(3) #2 7/2/3/3 -moving
            set a #1 5:3/3/3
            set a #1 5:5/3/3
            set b #2 2:1/0/0
            set b #2 2:2/0/0
            pod a new
            pod a new
            pod b new""",
        ),
    ),
}
