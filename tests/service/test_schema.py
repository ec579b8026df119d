"""Calls made from the OpenAPI document, right and wrong: none is answered with 5xx."""

import json
from collections import Counter
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from attempts import attempts
from ensample.service.openapi import openapi_document
from ensample.service.routes import ROUTES
from service.conftest import SHOP, Serve, Served

CASES = attempts(sample=5, full=350)  # of each route
DOCUMENT = openapi_document(ROUTES)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = {
    f"{found.ok().method.upper()} {found.ok().path}": found.ok()
    for found in SCHEMA.get_all_operations()
}
CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]


def test_every_route_is_in_the_document() -> None:
    assert len(OPERATIONS) == len(ROUTES)


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_call_breaks_the_service(name: str, serve: Serve) -> None:
    client, statuses = serve(experiments=4), Counter[int]()
    client.put("/v1/experiments/shop", json=SHOP)
    client.post("/v1/experiments/shop/decide", json={"id": "q1"})
    cases = {
        mode: OPERATIONS[name].as_strategy(generation_mode=mode) for mode in MODES
    }  # made once: that takes longest

    @given(st.data())
    @settings(
        max_examples=CASES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def calls(data: Any) -> None:
        case = data.draw(cases[data.draw(st.sampled_from(MODES))])
        known = data.draw(st.sampled_from([True, True, False]))
        if known and "experiment" in case.path_parameters:
            case.path_parameters["experiment"] = "shop"
        if known and "id" in case.path_parameters:
            case.path_parameters["id"] = "q1"
        response = sent(client, case)
        statuses[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    calls()
    print(f"\n{name}: {dict(statuses)}")
    simple = (
        not OPERATIONS[name].definition.raw.get("parameters")
        and "requestBody" not in OPERATIONS[name].definition.raw
    )
    assert (
        statuses.total() >= (1 if simple else CASES / 2)
        and client.get("/healthz").status_code == 200
    )


def sent(client: Served, case: Any) -> Any:
    """As it would go over the wire."""
    given = case.as_transport_kwargs(base_url="http://127.0.0.1:8000")
    body: dict[str, Any] = {}
    if given.get("json") is not None:
        body = {"content": json.dumps(given["json"]).encode()}
    elif given.get("data") is not None:
        body = {
            "content": given["data"]
            if isinstance(given["data"], bytes)
            else str(given["data"]).encode()
        }
    headers = {
        name: value
        for name, value in (given.get("headers") or {}).items()
        if name.lower() != "content-length"
    }
    return client.request(
        given["method"], given["url"], params=given.get("params"), headers=headers, **body
    )
