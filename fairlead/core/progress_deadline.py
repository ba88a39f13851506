"""How long a pod may take to become ready before what is rolled counts as blocked: an annotation on what is rolled."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from fairlead.core.pod_trouble import DEFAULT_DEADLINE
from kubeloop.durations import go_nanoseconds

PROGRESS_DEADLINE = "fairlead.dev/progress-deadline"
"""Annotation of what is rolled, a Go duration."""


def deadline_of(annotations: Mapping[str, str]) -> tuple[timedelta, str]:
    """The deadline, and why the annotation cannot be used: then, as without one, the default holds."""
    text = annotations.get(PROGRESS_DEADLINE)
    if text is None:
        return DEFAULT_DEADLINE, ""
    try:
        length = go_nanoseconds(text)
    except ValueError as error:
        return DEFAULT_DEADLINE, str(error)
    if length <= 0:
        return DEFAULT_DEADLINE, f'"{text}" is not longer than 0: write for example 90s, 5m or 1h30m'
    return timedelta(microseconds=-(-length // 1000)), ""
