"""What answers in the pods of `fairlead up`, where programs of contracts would."""

from __future__ import annotations

from fairlead.contracts import contracts
from fairlead.engine.demo import Hosted
from kubesim.kubelet import programs


def stand_in() -> programs.Maker:
    """For each pod the stand-in of the contract that knows it, if one does."""
    known: list[Hosted] = [contract.hosted.get() for contract in contracts() if contract.hosted is not None]
    makers: list[programs.Maker] = [each.stand_in() for each in known if each.stand_in is not None]

    def make(pod: programs.Hosted, exit_: programs.Exit) -> programs.Program | None:
        made = (maker(pod, exit_) for maker in makers)
        return next((each for each in made if each is not None), None)

    return make
