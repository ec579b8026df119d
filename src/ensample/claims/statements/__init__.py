"""Checks of the claims, by subject. Importing them registers the claims (`texts.claim`)."""

from ensample.claims.statements import (
    anticoncentration,
    auxiliary,
    bounds,
    certificates,
    concentration,
    ensembles,
    general_bound,
    identities,
    linphe,
    literature,
    optimism,
    optimistic_rule,
    rates,
    shares,
)

__all__ = [
    "anticoncentration",
    "auxiliary",
    "bounds",
    "certificates",
    "concentration",
    "ensembles",
    "general_bound",
    "identities",
    "linphe",
    "literature",
    "optimism",
    "optimistic_rule",
    "rates",
    "shares",
]
