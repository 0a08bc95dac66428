"""A registry that is away for a moment costs an attribute an attempt, and no more."""

import shutil
from contextlib import ExitStack

import pytest
from registries import MLFLOW_WARNS, mlflow_server
from storage import free_ports
from stored_votes import small

from flows.night import Asked
from flows.night_start import night_work
from tasks.registry import RegistryUnreachable
from tasks.settings import load_settings
from tasks.store import Store

pytestmark = MLFLOW_WARNS


def test_an_attribute_is_tried_again_when_the_registry_was_away(tmp_path, tables, monkeypatch):
    [port] = free_ports(1)
    shutil.copy(tables, tmp_path)
    small(Store.at(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("URLR_REGISTRY", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("URLR_WORKERS", "1")
    monkeypatch.setenv("URLR_FIT__REPLICATES", "0")
    settings = load_settings(store="store")
    with ExitStack() as running, ExitStack() as beginning:
        running.enter_context(mlflow_server(tmp_path, port))
        night = night_work(settings, Asked(force=True), say=lambda _: None)
        work = beginning.enter_context(night)
        running.close()  # the server is gone
        with pytest.raises(RegistryUnreachable) as away:
            work.work_on("smiling")
        assert work.may_try_again("smiling", away.value)
        assert work.entries == {}  # nothing is noted of an attempt that may be made again
        running.enter_context(mlflow_server(tmp_path, port))
        entry = work.work_on("smiling")
        record = work.finish()
    assert (entry.outcome, entry.attempts, entry.version) == ("published", 2, 1)
    assert not entry.computed  # the fit of the first attempt was found
    assert record.state == "Completed"
