"""Leaders whose labels somebody has edited: their groups count for nothing until the labels are back, or they are gone.

The StatefulSet controller does not replace them, since it looks at its own label alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.leaderworker.decide.edited_labels import edited
from fairlead.contracts.leaderworker.decide.groups import key_on
from fairlead.contracts.leaderworker.decide.revisions import key_of, readable
from fairlead.contracts.leaderworker.kinds import GROUP_INDEX, GROUP_KEY, REVISION_KEY, WORKER_INDEX, Pod
from fairlead.contracts.leaderworker.shown import Shown
from fairlead.core.pod_readiness import is_terminating


def leader_of(shown: Shown, index: int) -> Pod | None:
    """The pod of the leader's name, whatever its labels say."""
    name = shown.leader_name(index)
    return next((pod for pod in shown.pods if pod.metadata.name == name), None)


def edited_labels(shown: Shown, index: int) -> Iterator[tuple[str, str]]:
    """A sentence, and the label as it should be, for each that was changed on the leader."""
    pod = leader_of(shown, index)
    if pod is None or is_terminating(pod):
        return
    if is_unadmitted(pod):
        return
    wanted = {WORKER_INDEX: "0", GROUP_INDEX: str(index), REVISION_KEY: _key_of(shown, pod)}
    for label, sentence in edited(pod.metadata.labels, wanted).items():
        yield sentence, f"{label}={wanted[label]}"


def is_unadmitted(pod: Pod) -> bool:
    """Whether the webhook never saw it: what it gives all leaders lacks altogether (section 3.7 step 2)."""
    return not {GROUP_INDEX, GROUP_KEY} & pod.metadata.labels.keys()


def _key_of(shown: Shown, pod: Pod) -> str:
    """The key that it carries where that was recorded, else that of its workers."""
    key = key_on(pod.metadata)
    recorded = {key_of(each) for each in readable(shown.seen.set, shown.seen.revisions)}
    own = (each for each in shown.seen.workers if each.metadata.controller_uid == pod.metadata.uid)
    theirs = next((key_on(each.metadata) for each in own), key)
    return theirs if key not in recorded and theirs in recorded else key
