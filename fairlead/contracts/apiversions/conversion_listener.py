"""The listener of this part for conversion reviews: where API servers find it, and as whom definitions name it."""

from __future__ import annotations

from fairlead.contracts.apiversions.kinds import CA_MANAGER, CONVERTIBLE, CRD_OWNER, CRD_REVISION, MANAGER
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.engine.conversion.review import Manner
from fairlead.engine.conversion.webhook import ReviewTerms
from fairlead.engine.decide.owned_definitions import DefinitionOwner
from fairlead.engine.decide.registration import ConversionWebhook
from fairlead.engine.decide.replicas import ReplicaQuestion
from fairlead.engine.shared_conversion import SharedConversion


def webhook_of(settings: ApiVersionsSettings, home: str) -> ConversionWebhook:
    """Where API servers find this operator."""
    name, namespace = settings.service_name or MANAGER, settings.service_namespace or home
    return ConversionWebhook(name=name, namespace=namespace, port=settings.service_port)


def shared_conversion(settings: ApiVersionsSettings, home: str) -> SharedConversion | None:
    """The listener of this part, for kinds of others; None where it serves none."""
    if not settings.serves:
        return None
    webhook = webhook_of(settings, home)
    replicas = ReplicaQuestion(webhook.namespace, webhook.name, CONVERTIBLE)
    limits = settings.reviews
    reviews = ReviewTerms(
        largest=limits.largest, longest=limits.timeout, at_once=limits.concurrent, manner=Manner(in_words=True)
    )
    return SharedConversion(webhook, settings.port, owner_of(settings, home), replicas, reviews)


def owner_of(settings: ApiVersionsSettings, home: str) -> DefinitionOwner:
    """As whom definitions are written."""
    return DefinitionOwner(
        manager=MANAGER,
        ca_manager=CA_MANAGER,
        namespace=home,
        owner_key=CRD_OWNER,
        revision_key=CRD_REVISION,
        takes_over=settings.takes_over,
    )
