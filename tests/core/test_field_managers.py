"""Who puts back what a person changes."""

from __future__ import annotations

from fairlead.core.field_managers import LAST_APPLIED, ManagedFields, manifest_managers

PATH = ("spec", "template")
OWNED: dict[str, object] = {"f:spec": {"f:template": {"f:spec": {}}}}


def test_who_applies_the_field_is_named() -> None:
    managed = [ManagedFields("argocd-controller", "Apply", OWNED)]

    assert manifest_managers(managed, {}, PATH) == ("argocd-controller",)


def test_who_applies_other_fields_is_not() -> None:
    managed = [ManagedFields("scaler", "Apply", {"f:spec": {"f:replicas": {}}}), ManagedFields("x", "Apply", {})]

    assert manifest_managers(managed, {}, PATH) == ()


def test_who_edits_by_hand_will_not_do_it_again() -> None:
    managed = [ManagedFields("kubectl-edit", "Update", OWNED), ManagedFields("fairlead", "Update", OWNED)]

    assert manifest_managers(managed, {}, PATH) == ()


def test_tools_that_apply_with_an_update_are_known_by_name() -> None:
    managed = [ManagedFields("helm", "Update", OWNED), ManagedFields("kubectl-client-side-apply", "Update", OWNED)]

    assert manifest_managers(managed, {}, PATH) == ("helm", "kubectl apply")


def test_a_mark_on_the_object_tells_where_no_record_is_kept() -> None:
    assert manifest_managers([], {"helm.toolkit.fluxcd.io/name": "x"}, PATH) == ("Flux",)
    assert manifest_managers([], {LAST_APPLIED: "{}"}, PATH) == ("kubectl apply",)
