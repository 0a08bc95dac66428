"""Slips at the keyboard: one plain line at once, with the nearest name where there is one."""

import shlex
from types import SimpleNamespace

import pytest
from cases import passed
from judge import Seen
from registries import MLFLOW_WARNS, moved, registered

pytestmark = MLFLOW_WARNS

SLIPS = {
    "urlr models smilling": "has no attribute smilling; did you mean smiling",
    "urlr rollback smilling": "has no attribute smilling; did you mean smiling",
    "urlr rollback smiling --to 9": "smiling has no version 9 that urlr registered",
    "urlr rollback smiling --to 2": "is champion already; give another version",
    "urlr nightly --as-of 2999-01-01": "--as-of 2999-01-01 lies in the future",
    "urlr nightly --as-of 9999-12-31": "--as-of 9999-12-31 lies in the future",
}
"""What is typed, and part of what is said."""
SETTINGS = (
    "URLR_WORKERS=0",
    "URLR_WORKERS=1000000",
    "URLR_NIGHT_DEADLINE=1e300",
    "URLR_LEASE=-1",
    "URLR_LEASE_GRACE=1e12",
)


@pytest.fixture
def slip(command, registry, monkeypatch):
    monkeypatch.setenv("URLR_REGISTRY", registry.uri)
    return command


@pytest.fixture(scope="module")
def smiling(registry):
    moved(registry, registered(registry, "smiling", 2))
    return SimpleNamespace(name="smiling", champion=2)


@pytest.mark.parametrize("typed", SLIPS)
def test_a_slip_is_one_line(slip, smiling, typed):
    line = slip.refusal(*shlex.split(typed)[1:])
    assert SLIPS[typed] in line
    passed("operator slips", typed, Seen("refused (1)", line.removeprefix("urlr: ").strip()))


@pytest.mark.parametrize(
    "arguments",
    [
        ["nightly", "--as-of", "0001-01-01T00:00+14:00"],
        ["nightly", "--as-of", "yesterday"],
        ["rollback", "smiling", "--to", "0"],
        ["rollback", "smiling", "--to", "9" * 30],
    ],
)
def test_what_is_no_day_or_version_is_told_with_the_usage(slip, arguments):
    assert slip(*arguments) == 2
    assert slip.err.splitlines()[-1].startswith(f"urlr {arguments[0]}: error: argument --")


@pytest.mark.parametrize("setting", SETTINGS)
def test_absurd_settings_are_named(slip, monkeypatch, setting):
    name, _, value = setting.partition("=")
    monkeypatch.setenv(name, value)
    line = slip.refusal("models")
    assert f"set it by {name} or in urlr.toml" in line
    passed("operator slips", setting, Seen("refused (1)", line.removeprefix("urlr: ").strip()))
