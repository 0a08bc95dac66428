"""Slips at the keyboard: one plain line at once, with the nearest name where there is one."""

import re
import shlex
from datetime import date
from types import SimpleNamespace

import pytest
from cases import passed
from judge import Seen
from registries import MLFLOW_WARNS, moved, registered
from sentences import like

from tasks.messages import message

pytestmark = MLFLOW_WARNS

NEAREST = like("tasks", "attributes_nearly_called_so", names=re.compile("smiling.*"))
UNKNOWN = like("tasks", "no_such_attribute", attribute="smilling", hint=NEAREST)
CHAMPION = message("a_version", number=2, attribute="smiling")
SLIPS = {
    "urlr models smilling": UNKNOWN,
    "urlr rollback smilling": UNKNOWN,
    "urlr rollback smiling --to 9": like("tasks", "no_such_version", attribute="smiling", number=9),
    "urlr rollback smiling --to 2": like("tasks", "champion_already", version=CHAMPION),
    "urlr nightly --as-of 2999-01-01": like("flows", "as_of_in_the_future", day=date(2999, 1, 1)),
    "urlr nightly --as-of 9999-12-31": like("flows", "as_of_in_the_future", day=date(9999, 12, 31)),
}
"""What is typed, and what is said."""
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
    assert SLIPS[typed].search(line)
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
    said = like("tasks", "setting_refused", value=value, variable=name, file="urlr.toml")
    assert said.search(line)
    passed("operator slips", setting, Seen("refused (1)", line.removeprefix("urlr: ").strip()))
