"""Asking Prefect's API whether it is there: an answer in time, or a plain line."""

import socket

import pytest

from flows import prefect_api
from flows.night import NightError


def test_an_api_that_takes_connections_and_says_nothing_is_told_in_time(monkeypatch):
    monkeypatch.setattr(prefect_api, "ANSWER", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/api"
        monkeypatch.setenv("PREFECT_API_URL", address)
        with pytest.raises(
            NightError, match=r"gives no answer \(.*\); check PREFECT_API_URL"
        ) as error:
            prefect_api.check_api(address)
    assert "gives no answer" in str(error.value)
    assert "\n" not in str(error.value)
