"""Settings: where each comes from, and what is said of those that make no sense."""

import os
from pathlib import Path

import pytest
from refusals import refused

from tasks.gate import GateSettings
from tasks.settings import Gate, Settings, SettingsError, load_settings
from tasks.store import StoreError
from urlr.settings import FitSettings


@pytest.fixture(autouse=True)
def empty_place(tmp_path, monkeypatch) -> Path:
    """An environment without settings, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.upper().startswith("URLR_") or name == "MLFLOW_TRACKING_URI":
            monkeypatch.delenv(name)
    return tmp_path


def configured(text: str) -> None:
    Path("urlr.toml").write_text(text, encoding="utf-8")


def refusal(code: str, **fields: object) -> SettingsError:
    with refused(SettingsError, code, **fields) as caught:
        load_settings()
    assert "\n" not in str(caught.value)
    return caught.value


def test_everything_has_a_default_and_a_description():
    settings = load_settings()
    assert settings.store == "./urlr-store"
    assert settings.workers == (os.cpu_count() or 1)
    assert settings.fit_of("smiling") == FitSettings()
    assert settings.gate.rules() == GateSettings()
    for group in (Settings, Gate):
        for name, field in group.model_fields.items():
            assert field.description or name == "gate", name


def test_an_option_comes_before_the_environment_before_the_file_before_the_default(monkeypatch):
    configured("workers = 3\nlease = 30.0\nnight_deadline = 7.0\n[gate]\ndrop = 0.5\nnights = 4\n")
    monkeypatch.setenv("URLR_WORKERS", "4")
    monkeypatch.setenv("URLR_LEASE", "40")
    monkeypatch.setenv("URLR_GATE__DROP", "0.4")
    settings = load_settings(workers=5, lease=None)
    assert settings.workers == 5
    assert settings.lease == 40.0
    assert settings.night_deadline == 7.0
    assert settings.call_deadline == 120.0
    assert settings.gate.rules() == GateSettings(drop=0.4, nights=4)


def test_the_file_may_lie_elsewhere(monkeypatch, tmp_path):
    other = tmp_path / "night.toml"
    other.write_text('store = "s3://votes/here"\n')
    monkeypatch.setenv("URLR_CONFIG", str(other))
    assert load_settings().store == "s3://votes/here"
    other.unlink()
    refusal("no_settings_file", path=str(other), variable="URLR_CONFIG")


def test_the_address_that_mlflow_knows_comes_before_the_default_only(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    assert load_settings().registry == "http://127.0.0.1:5000"
    monkeypatch.setenv("URLR_REGISTRY", "./here")
    assert load_settings().registry == "./here"
    assert load_settings(registry="./there").registry == "./there"


@pytest.mark.parametrize(
    "name", ["URLR_WORKRES", "urlr_workres", "URLR_", "URLR_STORE__PREFIX", "URLR_GAT__DROP"]
)
def test_a_misspelt_variable_is_refused(monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert "URLR_WORKERS" in refusal("unknown_variable", name=name).fields["known"]


@pytest.mark.parametrize(
    ("variable", "value", "name", "why"),
    [
        ("URLR_WORKERS", "many", "workers", "integer"),
        ("URLR_WORKERS", "0", "workers", "greater than or equal to 1"),
        ("URLR_LEASE", "nan", "lease", "finite"),
        ("URLR_NIGHT_DEADLINE", "0", "night_deadline", "greater than 0"),
        ("URLR_HELD_OUT_ITEMS", "1", "held_out_items", "less than 1"),
        ("URLR_DASK_PLAIN", "perhaps", "dask_plain", "boolean"),
        ("URLR_WORKERS", "1\n2", "workers", "integer"),
    ],
)
def test_nonsense_in_the_environment_is_named_with_where_to_set_it(
    monkeypatch, variable, value, name, why
):
    monkeypatch.setenv(variable, value)
    where = {"variable": variable, "file": "urlr.toml"}
    error = refusal("setting_refused", name=name, value=value, **where)
    assert why in error.fields["why"]
    assert variable in str(error)


@pytest.mark.parametrize(
    ("variable", "value", "name", "code", "fields"),
    [
        ("URLR_GATE__DROP", "9", "gate.drop", "drop_beyond_tau", {"value": 9.0}),
        ("URLR_FIT__PRUNE", "2", "fit.prune", "not_a_share", {"name": "prune", "value": 2}),
    ],
)
def test_a_part_of_a_group_is_named_with_where_to_set_it(
    monkeypatch, variable, value, name, code, fields
):
    monkeypatch.setenv(variable, value)
    why = refusal("part_refused", name=name, variable=variable, file="urlr.toml").fields["why"]
    assert (why.code, why.fields) == (code, fields)


@pytest.mark.parametrize(("variable", "value"), [("URLR_GATE", "strict"), ("URLR_FIT", "[1]")])
def test_a_group_that_is_no_object_is_told_of_its_parts(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    error = refusal("group_is_no_object", variable=variable, value=value)
    assert f"{variable}__" in str(error)


def test_a_misspelt_part_of_a_group_is_named(monkeypatch):
    with monkeypatch.context() as environment:
        environment.setenv("URLR_GATE__DORP", "0.1")
        refusal("unknown_setting", name="gate.dorp")
    monkeypatch.setenv("URLR_FIT__PRUN", "0.1")
    why = refusal("group_refused", name="fit", file="urlr.toml").fields["why"]
    assert (why.code, why.fields["names"]) == ("unknown_fit_setting", "prun")
    assert why.fields["known"].startswith("method, prune")


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        ("workers = ", "unreadable_settings_file", {"path": "urlr.toml"}),
        ("wokers = 2", "unknown_setting", {"name": "wokers"}),
        ("fit = 3", "group_refused", {"name": "fit", "file": "urlr.toml"}),
        ("[attributes]\nsmiling = 1", "group_refused", {"name": "attributes.smiling"}),
    ],
)
def test_nonsense_in_the_file_is_named(text, code, fields):
    configured(text)
    refusal(code, **fields)


@pytest.mark.parametrize(
    ("text", "name", "code", "value"),
    [
        ('[fit]\nmethod = "best"', "fit.method", "unknown_choice", "best"),
        ("[gate]\nconfidence = 2.0", "gate.confidence", "not_between_0_and_1", 2.0),
    ],
)
def test_nonsense_in_a_group_of_the_file_is_named(text, name, code, value):
    configured(text)
    why = refusal("part_refused", name=name).fields["why"]
    assert (why.code, why.fields["value"]) == (code, value)


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [("prune = 7", "not_a_share", 7), ('ranking = "svm"', "setting_of_other_method", "svm")],
)
def test_nonsense_for_an_attribute_is_named_with_its_pattern(text, code, value):
    configured(f"[attributes.smiling]\n{text}")
    wrong = refusal("settings_refused", file="urlr.toml").fields["why"]
    assert (wrong.code, wrong.fields["pattern"]) == ("wrong_for_pattern", "smiling")
    why = wrong.fields["why"]
    assert (why.code, why.fields["value"]) == (code, value)


def test_a_share_that_is_no_number_is_refused():
    configured("[fit]\nprune = nan")
    assert refusal("part_refused", name="fit.prune").fields["why"].code == "not_a_share"


def test_a_file_that_is_no_text_is_refused():
    Path("urlr.toml").write_bytes(b"store = '\xff'")
    refusal("unreadable_settings_file", path="urlr.toml")


@pytest.mark.parametrize("how", ["option", "variable", "file"])
def test_a_store_with_a_password_is_refused_and_not_repeated(monkeypatch, how):
    address = "s3://key:hunter22@bucket/x"
    if how == "variable":
        monkeypatch.setenv("URLR_STORE", address)
    if how == "file":
        configured(f'store = "{address}"\n')
    with refused(StoreError, "address_with_password") as caught:
        load_settings(store=address if how == "option" else None)
    assert "hunter22" not in str(caught.value)


def test_settings_of_attributes_go_by_name_and_pattern_and_later_ones_win():
    configured(
        """
        [fit]
        seed = 7
        [attributes."interestingness/*"]
        prune = 0.1
        limit = 0.5
        [attributes."interestingness/food"]
        prune = 0.3
        [attributes."odd [name]"]
        prune = 0.4
        """
    )
    settings = load_settings()
    assert settings.fit_of("smiling") == FitSettings(seed=7)
    assert settings.fit_of("interestingness/cars") == FitSettings(seed=7, prune=0.1, limit=0.5)
    assert settings.fit_of("interestingness/food") == FitSettings(seed=7, prune=0.3, limit=0.5)
    assert settings.fit_of("Interestingness/food") == FitSettings(seed=7)
    assert settings.fit_of("odd [name]").prune == 0.4


def test_one_attribute_may_have_all_settings_of_the_paper():
    configured(
        """
        [attributes."paper/*"]
        method = "paper"
        prune = 0.2
        ridge = 0.001
        [attributes."paper/svm"]
        ranking = "svm"
        components = 5
        chi_square = 2
        """
    )
    settings = load_settings()
    papers = FitSettings(method="paper", prune=0.2, ridge=0.001)
    assert settings.fit_of("paper/ridge") == papers
    assert settings.fit_of("paper/svm") == FitSettings(
        method="paper", prune=0.2, ridge=0.001, ranking="svm", components=5, chi_square=2
    )
    assert settings.fit_of("other") == FitSettings()


def test_the_environment_gives_numbers_and_switches_of_a_fit_as_text(monkeypatch):
    monkeypatch.setenv("URLR_FIT__PRUNE", "0.2")
    monkeypatch.setenv("URLR_FIT__TIES", "False")
    monkeypatch.setenv("URLR_FIT__SEED", "3")
    assert load_settings().fit_of("smiling") == FitSettings(prune=0.2, ties=False, seed=3)


def test_two_patterns_that_do_not_go_together_are_an_error_of_settings():
    configured(
        """
        [attributes."a*"]
        method = "paper"
        ranking = "svm"
        [attributes."*b"]
        method = "robust"
        """
    )
    settings = load_settings()
    assert settings.fit_of("ax").ranking == "svm"
    with refused(
        SettingsError, "patterns_clash", attribute="ab", patterns=["a*", "*b"], file="urlr.toml"
    ) as caught:
        settings.fit_of("ab")
    why = caught.value.fields["why"]
    assert (why.code, why.fields["name"]) == ("setting_of_other_method", "ranking")


def test_the_lease_of_a_killed_night_is_over_after_150_seconds_by_default():
    settings = load_settings()
    assert (settings.lease, settings.lease_grace) == (120.0, 30.0)
    assert settings.lease + settings.lease_grace == 150.0


def test_attributes_are_frozen_by_name_and_by_pattern(monkeypatch):
    assert not load_settings().is_frozen("smiling")
    monkeypatch.setenv("URLR_FROZEN", '["smiling", "interestingness/*"]')
    settings = load_settings()
    frozen = ("smiling", "interestingness/food", "interestingness/food/sweet")
    others = ("smiling/food", "smilin", "interestingness", "Smiling")
    assert {name: settings.is_frozen(name) for name in (*frozen, *others)} == {
        **dict.fromkeys(frozen, True),
        **dict.fromkeys(others, False),
    }
    configured('frozen = ["*"]\n')
    monkeypatch.delenv("URLR_FROZEN")
    assert all(load_settings().is_frozen(name) for name in (*frozen, *others))


def test_settings_do_not_change_while_they_are_used():
    with pytest.raises(ValueError, match="frozen"):
        load_settings().workers = 3
