"""A night in which an attribute is worked on part by part, as a user meets it."""

import pytest
from pipeline import Place, Ran
from registries import MLFLOW_WARNS
from small_stores import BRIGHT, SETTINGS, SMILING, write_small_store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

LARGE = {"URLR_LARGE_ATTRIBUTE": "100", "URLR_WORKERS": "1"}


@pytest.fixture(scope="module")
def nights(new_bench) -> tuple[Place, Ran, Ran]:
    """The same night twice, on the two attributes with features."""
    place = new_bench(**LARGE)
    write_small_store(place.store)
    (place.directory / "urlr.toml").write_text(SETTINGS)
    asked = ("--only", f"{BRIGHT},{SMILING}")
    return place, place.night(*asked), place.night(*asked)


def test_a_large_attribute_is_published_beside_others(nights):
    place, first, again = nights
    assert first.outcomes() == {BRIGHT: "published", SMILING: "published"}
    large, small = (place.result(first.entry(name)) for name in (BRIGHT, SMILING))
    assert [name for name in large.files if "verdicts" in name] == ["verdicts/part-00001.parquet"]
    assert "verdicts.parquet" in small.files
    assert large.rows["read"] == small.rows["read"] == 320
    assert place.champions() == {BRIGHT: 1, SMILING: 1}
    assert again.outcomes() == {BRIGHT: "unchanged", SMILING: "unchanged"}


def test_its_page_and_its_status_are_there(nights):
    place, first, _ = nights
    page = place.store.read(first.entry(BRIGHT).page or "")
    assert b"were read part by part" in page
    status = place.urlr("status", "--store", place.store.url)
    assert status.returncode == 0, status.stderr
    assert BRIGHT in status.stdout
