"""Everything that can be set about the pipeline: one frozen record, read once, inside a flow.

A setting comes from the command line, else from the environment (`URLR_WORKERS=4`; parts of a
group after two underscores: `URLR_GATE__DROP=0.02`), else from `urlr.toml` in the current
directory (or the file `URLR_CONFIG` names), else it has its default. Credentials are no settings:
the libraries that need them read them from the environment.
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from tasks.gate import GateSettings
from tasks.messages import message
from tasks.objects import redacted
from tasks.store import Store
from urlr.errors import ArgumentError, UrlrError
from urlr.ids import shown
from urlr.sentence import Sentence, made
from urlr.settings import FitSettings

PREFIX = "URLR_"
FILE = "urlr.toml"
_GROUPS = ("gate", "fit", "attributes")

Share = Annotated[float, Field(ge=0.0, lt=1.0)]
LONGEST = 366 * 86_400.0
"""Seconds that anything may be told to take; beyond 292 years threads cannot wait."""
Seconds = Annotated[float, Field(gt=0.0, le=LONGEST, allow_inf_nan=False)]


class SettingsError(UrlrError):
    """A setting makes no sense; the text says which, why, and where to set it."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(redacted(sentence))


class Gate(BaseModel):
    """When a challenger may replace the champion; see `tasks.gate`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    confidence: float = Field(0.99, description="Held if worse with this confidence.")
    drop: float = Field(
        0.01, description="Held if tau lies this far below the best of the last nights."
    )
    drop_errors: float = Field(
        2.0,
        description="Standard errors of the difference it may lie below that best in any case; 0 "
        "for none.",
    )
    nights: int = Field(30, description="How many nights these are.")
    fewest_votes: int = Field(20, description="Held-out votes that must have been judged.")
    most_lost: float = Field(
        0.5, description="Held if more than this share of the champion's votes is gone."
    )
    most_by_one: float = Field(
        0.5, description="Held if more than this share of the votes is suddenly one person's."
    )
    least_alike: float = Field(
        0.0, description="Held if tau between its order and the champion's is below this."
    )
    least_mixed: float = Field(
        0.2,
        description="Held if fewer items both win and lose, as a share of those that would if "
        "pairs were drawn at random.",
    )
    most_guessed: float = Field(
        0.8,
        description="Held if the mere guess that winners beat losers has a tau with the votes "
        "above this.",
    )
    least_judged: float = Field(
        0.4, description="Held if both can judge less than this share of the held-out votes."
    )
    least_same: float = Field(
        0.9,
        description="Features are suspect if tau between the champion's scores and those it would "
        "give by them is below this.",
    )
    least_kept: float = Field(
        0.92,
        description="With suspect features: held if tau between its order and the champion's is "
        "below this and it is not better with confidence.",
    )

    def rules(self) -> GateSettings:
        """The rules as the gate takes them."""
        return GateSettings(**self.model_dump())

    @model_validator(mode="after")
    def _possible(self) -> Gate:
        self.rules()
        return self


class Settings(BaseSettings):
    """What a night, a scoring or a look at the registry is run with."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True
    )

    store: str = Field(
        "./urlr-store", description="Where votes lie and results go: a path or s3://bucket/prefix."
    )
    registry: str = Field(
        "./urlr-registry",
        description="The model registry: a directory, or the address of an MLflow server or "
        "database. MLFLOW_TRACKING_URI comes before the default.",
    )
    artifacts: str | None = Field(
        None,
        description="Where models are kept (a path or s3://bucket/prefix), where that is not the "
        "registry's own choice.",
    )
    workers: int = Field(
        default_factory=lambda: os.cpu_count() or 1, ge=1, le=1024, description="Worker processes."
    )
    worker_memory: str | None = Field(
        None,
        description="Memory a worker may use before it is ended, such as 4GiB; by default the "
        "machine's, shared evenly.",
    )
    dask_address: str | None = Field(
        None, description="Scheduler of a running Dask cluster, tls://host:port."
    )
    dask_plain: bool = Field(
        False, description="Talk to a remote cluster without TLS; anyone there can run code."
    )
    dask_ca: Path | None = Field(None, description="Certificate authority of the cluster, a file.")
    dask_cert: Path | None = Field(None, description="Our certificate, a file.")
    dask_key: Path | None = Field(None, description="Key of our certificate, a file.")

    attribute_deadline: Seconds = Field(3600.0, description="Seconds the work on one may take.")
    night_deadline: Seconds = Field(
        6 * 3600.0, description="Seconds a night, or a scoring, may take."
    )
    call_deadline: Seconds = Field(120.0, description="Seconds one call to the store may take.")
    lease: Seconds = Field(
        120.0, description="Seconds after which the lease of a killed night runs out."
    )
    lease_grace: float = Field(
        30.0,
        ge=0.0,
        le=LONGEST,
        allow_inf_nan=False,
        description="Seconds past its end that a lease is still respected, since clocks of "
        "machines differ.",
    )
    fewest_done: Share = Field(
        0.0,
        description="Share of the attributes that must be done, or the night has failed; at least "
        "one must.",
    )
    most_rejected: Share = Field(
        0.5, description="Share of an attribute's rows that may be rejected before it fails."
    )
    large_attribute: int = Field(
        5_000_000,
        ge=1,
        description="Rows beyond which an attribute is worked on part by part, if its method is "
        "the paper's with a fixed share to prune.",
    )
    most_rows: int = Field(
        1_000_000_000,
        ge=1,
        lt=2**31,
        description="Rows an attribute may have; one with more is refused unread.",
    )
    held_out_items: Share = Field(0.1, description="Share of items whose votes are kept for tests.")
    held_out_pairs: Share = Field(0.1, description="Share of pairs whose votes are kept for tests.")
    gate: Gate = Field(default_factory=lambda: Gate.model_validate({}))
    frozen: tuple[str, ...] = Field(
        (),
        description="Attributes, or patterns such as interestingness/*, whose champion stays as it "
        'is: challengers are trained, judged and held. ["*"] freezes all.',
    )
    metrics_dir: Path | None = Field(
        None,
        description="Directory that gets urlr.prom after every night, for node_exporter's textfile "
        "collector.",
    )
    shared_components: int = Field(
        0,
        ge=0,
        description="Reduce the features of all attributes by one PCA to so many dimensions, "
        "fitted once and kept; 0 for none.",
    )
    fit: dict[str, Any] = Field(
        {}, description="Settings of the fit, as of `urlr fit`, for all attributes."
    )
    attributes: dict[str, dict[str, Any]] = Field(
        {},
        description="Settings of the fit by attribute, or by pattern such as interestingness/*; "
        "later ones override earlier ones.",
    )

    @field_validator("store")
    @classmethod
    def _a_store(cls, address: str) -> str:
        Store.at(address)  # raises what says it best, and does not show a password
        return address

    @field_validator("fit")
    @classmethod
    def _a_fit(cls, chosen: dict[str, Any]) -> dict[str, Any]:
        _fit_settings(chosen)
        return chosen

    @model_validator(mode="after")
    def _each_a_fit(self) -> Settings:
        for pattern in self.attributes:
            try:
                _fit_settings(self._chosen_for(pattern))
            except ValueError as error:
                wrong = message("wrong_for_pattern", pattern=pattern, why=error.args[0])
                raise ArgumentError(wrong) from None
        return self

    def fit_of(self, attribute: str) -> FitSettings:
        """Settings of the fit of one attribute.

        Raises
        ------
        SettingsError
            Two patterns that make sense alone do not together.
        """
        try:
            return _fit_settings(self._chosen_for(attribute))
        except ValueError as error:
            raise SettingsError(
                message(
                    "patterns_clash",
                    attribute=attribute,
                    patterns=[one for one in self.attributes if _is_for(one, attribute)],
                    why=_why(str(error).rstrip("."), error),
                    file=FILE,
                )
            ) from None

    def is_frozen(self, attribute: str) -> bool:
        """Whether the champion of an attribute is to stay as it is."""
        return any(_is_for(pattern, attribute) for pattern in self.frozen)

    def _chosen_for(self, attribute: str) -> dict[str, Any]:
        chosen = dict(self.fit)
        for pattern, further in self.attributes.items():
            if _is_for(pattern, attribute):
                chosen |= further
        return chosen

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Command line, environment, file; no .env and no secret files."""
        return (
            init_settings,
            env_settings,
            TomlConfigSettingsSource(settings_cls, toml_file=settings_file()),
        )


def load_settings(**given: Any) -> Settings:
    """Read the settings; what is given (and not None) comes before everything else.

    Raises
    ------
    SettingsError
        A setting is unknown or makes no sense, or the file cannot be read.
    StoreError
        There can be no store at that address, or it holds a password.
    """
    given = {name: value for name, value in given.items() if value is not None}
    _check_names()
    _check_file()
    try:
        settings = Settings(**given)
    except ValidationError as error:
        raise SettingsError(_sentence(error)) from None
    except ValueError as error:  # part of a group in the environment that is no JSON
        raise SettingsError(message("unreadable_setting", why=str(error), file=FILE)) from None
    tracking = os.environ.get("MLFLOW_TRACKING_URI")
    if tracking and "registry" not in settings.model_fields_set:
        settings = settings.model_copy(update={"registry": tracking})
    return settings


def settings_file() -> Path:
    """The file that settings are read from, if it is there."""
    return Path(os.environ.get(f"{PREFIX}CONFIG", FILE))


def _check_file() -> None:
    import tomllib

    path = settings_file()
    if not path.is_file():
        if f"{PREFIX}CONFIG" in os.environ:
            variable = f"{PREFIX}CONFIG"
            raise SettingsError(message("no_settings_file", variable=variable, path=str(path)))
        return
    try:
        tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        wrong = message("unreadable_settings_file", path=str(path), why=str(error))
        raise SettingsError(wrong) from None


def unknown_variables() -> dict[str, str | None]:
    """Variables URLR_... that are no settings, each with the name that was likely meant."""
    known, groups = _names()
    found: dict[str, str | None] = {}
    for name in os.environ:
        setting, parts, part = name.upper().partition("__")
        if name.upper().startswith(PREFIX) and setting not in (groups if parts else known):
            likely = [*sorted(known), *(f"{group}__{part}" for group in sorted(groups) if parts)]
            found[name] = next(iter(difflib.get_close_matches(name.upper(), likely, n=1)), None)
    return found


def _names() -> tuple[set[str], set[str]]:
    """Variables that are known, and those of them that have parts."""
    names = (*Settings.model_fields, "config", "debug")
    return (
        {f"{PREFIX}{name.upper()}" for name in names},
        {f"{PREFIX}{name.upper()}" for name in _GROUPS},
    )


def _check_names() -> None:
    """Refuse a misspelt variable, which would else be passed over in silence."""
    known, groups = _names()
    for name in unknown_variables():
        raise SettingsError(message("unknown_variable", name=name, known=", ".join(sorted(known))))
    for name, value in os.environ.items():
        setting = name.upper()
        if setting in groups and not _is_object(value):
            raise SettingsError(
                message("group_is_no_object", variable=setting, value=value, file=FILE)
            )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _is_for(pattern: str, attribute: str) -> bool:
    """Whether settings of this pattern, or of this very name, are for an attribute."""
    return pattern == attribute or fnmatch.fnmatchcase(attribute, pattern)


def _fit_settings(chosen: dict[str, Any]) -> FitSettings:
    unknown = sorted(set(chosen) - {field.name for field in fields(FitSettings)})
    if unknown:
        usual = ", ".join(asdict(FitSettings()))
        raise ArgumentError(
            message("unknown_fit_setting", names=", ".join(map(shown, unknown)), known=usual)
        )
    settings = FitSettings(**{name: _read_value(value) for name, value in chosen.items()})
    settings.check()
    return settings


def _read_value(value: Any) -> Any:
    """A number or a switch that the environment could only give as text."""
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value.lower())
    except ValueError:
        return value
    return read if isinstance(read, int | float | bool) else value


def _sentence(error: ValidationError) -> Sentence:
    """What is wrong with the first setting that is, and where to set it."""
    first = error.errors(include_url=False)[0]
    place = first["loc"]
    text = shown(first["msg"].removeprefix("Value error, ").rstrip("."), 500)
    why = _why(text, first.get("ctx", {}).get("error"))
    wrong = why.partition(" ")[0]  # these name the part that makes no sense first
    if place in (("gate",), ("fit",)) and wrong in _PARTS:
        place = (*place, wrong)
    name = ".".join(shown(part) for part in place)
    value = first["input"]
    if not place:
        return message("settings_refused", why=why, file=FILE)
    if place[0] == "attributes" or place == ("fit",):
        return message("group_refused", name=name, why=why, file=FILE)
    if first["type"] == "extra_forbidden":
        return message("unknown_setting", name=name)
    variable = f"{PREFIX}{'__'.join(str(part).upper() for part in place)}"
    if isinstance(value, dict | BaseModel):
        return message("part_refused", name=name, why=why, variable=variable, file=FILE)
    return message("setting_refused", name=name, value=value, why=why, variable=variable, file=FILE)


def _why(text: str, error: object) -> str:
    """What an error says, with its code if it is one of ours."""
    return made(text, error.code, error.fields) if isinstance(error, UrlrError) else text


_PARTS = frozenset(field.name for group in (GateSettings, FitSettings) for field in fields(group))
