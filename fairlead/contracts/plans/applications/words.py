"""The words of applications: log level, message and text of each reason and each write."""

from __future__ import annotations

from fairlead.contracts.plans.words import FAILED
from fairlead.contracts.plans.words import REASONS as OF_ROLLOUTS
from fairlead.contracts.plans.words import WRITES as BY_ROLLOUTS
from fairlead.core.act import Does
from fairlead.core.reason import Reason
from fairlead.core.words import Words

REASONS: dict[Reason, Words] = {
    **OF_ROLLOUTS,
    Reason.OBJECT_REFUSED: Words("warn", f"{FAILED}: object refused", "{object}: {detail}"),
    Reason.APPLYING: Words("info", "objects being applied", "{object} is being applied"),
    Reason.RETIRING: Words("info", "history being cleared", "what is left of {object} is being removed"),
    Reason.COMPLETE: Words("debug", "up to date", "{object} is as its spec says"),
}

FAMILY_WRITES: dict[Does, Words] = {
    Does.REPORT_STATUS: Words("debug", "status reported"),
    Does.APPLY_OBJECT: Words("info", "object applied"),
    Does.REMOVE_OBJECT: Words("info", "object removed"),
    Does.HAND_OVER: Words("info", "object handed over"),
    Does.RECORD_REVISION: Words("info", "revision recorded"),
    Does.FORGET_REVISION: Words("debug", "revision removed"),
}
"""Of Applications, Components and ApplicationConfigurations; logged once the write has succeeded."""

DEPLOYMENT_WRITES: dict[Does, Words] = {**BY_ROLLOUTS, **FAMILY_WRITES}
