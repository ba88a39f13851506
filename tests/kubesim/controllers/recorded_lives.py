"""What kube-controller-manager 1.36.4 was seen to do with a Deployment that loses pods, or ends.

Both clusters must show these lines (see `deploying`): all that are sure, in this order for each object, and no others.
Lines after a question mark are statuses of a moment, which a busy controller skips.
"""

from __future__ import annotations

from tests.kubesim.controllers.deploying import NAME, Step, a_pod_spec
from tests.kubesim.controllers.recorded_rollouts import TWO_READY

RELABELLED = {"metadata": {"labels": {"app": NAME, "more": "1"}}, "spec": a_pod_spec("i:1")}

ONE_READY: tuple[Step, ...] = (
    (
        lambda stage: stage.make(1),
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
)

LIVES: dict[str, tuple[Step, ...]] = {
    "a pod that is deleted": (
        *TWO_READY,
        (
            lambda stage: stage.delete_pod(),
            """? roll 1(1) #1 1/1/1/1 -complete
            roll 1(1) #1 2/2/1/1 -complete
            set a #1 2:1/1/1
            set a #1 2:2/1/1
            pod a going gone
            pod a new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """roll 1(1) #1 2/2/2/2 +complete
            set a #1 2:2/2/2
            pod a ready""",
        ),
    ),
    "an annotation": (
        *ONE_READY,
        (
            lambda stage: stage.annotate(team="sea"),
            """roll 2(1) #1 1/1/1/1 +complete
            roll 2(2) #1 1/1/1/1 +complete""",
        ),
    ),
    "no history": (
        (
            lambda stage: stage.make(1, revisionHistoryLimit=0),
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
            ? roll 2(1) #2 1/1/1/1 +moving
            ? roll 2(2) #2 1/0/1/1 +moving
            roll 2(2) #2 2/1/1/1 +moving
            set b #2 1:0/0/0
            set b #2 1:1/0/0
            pod b new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 2(2) #2 2/1/2/2 +moving
            roll 2(2) #2 1/1/1/1 +complete
            set a #1 0:1/1/1
            set a #1 0:0/0/0
            set a gone
            set b #2 1:1/1/1
            pod a going gone
            pod b ready""",
        ),
    ),
    "pods that are left behind and taken on again": (
        *TWO_READY,
        (
            lambda stage: stage.delete("Orphan"),
            """roll 2(1) #1 2/2/2/2 +complete going
            ? roll 2(2) #1 2/2/2/2 +complete going
            ? roll 2(2) #1 0/0/0/0 -complete going
            roll gone
            set a #1 2:2/2/2 orphan""",
        ),
        (
            lambda stage: stage.make(),
            """roll 1(0) #- 0/0/0/0
            ? roll 1(0) #1 0/0/0/0 moving
            roll 1(1) #1 2/2/2/2 +complete
            set a #1 2:2/2/2""",
        ),
    ),
    "pods that are left behind and replaced": (
        *ONE_READY,
        (
            lambda stage: stage.delete("Orphan"),
            """roll 2(1) #1 1/1/1/1 +complete going
            ? roll 2(2) #1 1/1/1/1 +complete going
            ? roll 2(2) #1 0/0/0/0 -complete going
            roll gone
            set a #1 1:1/1/1 orphan""",
        ),
        (
            lambda stage: stage.make(1, template=RELABELLED),
            """roll 1(0) #- 0/0/0/0
            ? roll 1(0) #1 0/0/0/0 moving
            ? roll 1(0) #2 0/0/0/0 moving
            ? roll 1(1) #2 1/0/1/1 +moving
            roll 1(1) #2 2/1/1/1 +moving
            set a #1 1:1/1/1
            ? set b #1 1:0/0/0
            ? set b #1 1:1/0/0
            ? set b #2 1:0/0/0
            set b #2 1:1/0/0
            pod b new""",
        ),
        (
            lambda stage: stage.make_ready(),
            """? roll 1(1) #2 2/1/2/2 +moving
            roll 1(1) #2 1/1/1/1 +complete
            set a #1 0:1/1/1
            set a #1 0:0/0/0
            set b #2 1:1/1/1
            pod a going gone
            pod b ready""",
        ),
    ),
    "deletion in the foreground": (
        *TWO_READY,
        (
            lambda stage: stage.delete("Foreground"),
            """roll 2(1) #1 2/2/2/2 +complete going
            ? roll 2(2) #1 2/2/2/2 +complete going
            ? roll 2(2) #1 1/1/1/1 -complete going
            ? roll 2(2) #1 0/0/0/0 -complete going
            roll gone
            set a #1 2:2/2/2 going
            ? set a #1 2:1/1/1 going
            ? set a #1 2:0/0/0 going
            set a gone
            pod a going gone
            pod a going gone""",
        ),
    ),
    "deletion in the background": (
        *TWO_READY,
        (
            lambda stage: stage.delete(),
            """roll gone
            set a gone
            pod a going gone
            pod a going gone""",
        ),
    ),
}
