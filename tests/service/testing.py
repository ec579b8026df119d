"""Starlette's client for tests, on httpx, which our own client uses too."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that it would rather have httpx2
    from starlette.testclient import TestClient

__all__ = ["TestClient"]
