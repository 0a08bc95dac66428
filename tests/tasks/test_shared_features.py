"""The shared transform is that of the whole table, whoever computes it and in whatever pieces."""

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from clusters import local_client
from refusals import refused
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from tasks.shared_features import (
    fit_shared,
    needs_refit,
    read_shared,
    reduce_parts,
    shared_version,
    write_shared,
)
from tasks.store import Exists, Store
from urlr.errors import FeatureError
from urlr.model_file import feature_map_bytes
from urlr.space.maps import component_names, original_space, reduced_space
from urlr.space.projections import signs_of
from urlr.space.table import feature_table

pytestmark = pytest.mark.full

D = 8


def table(n=600, *, gaps=0.0, seed=0) -> pd.DataFrame:
    """Correlated columns of very different scales, and one that says nothing."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, D)) @ rng.normal(size=(D, D)) * 10.0 ** np.arange(D) + 100
    values[rng.random(values.shape) < gaps] = np.nan
    frame = pd.DataFrame(values, columns=[f"f{k}" for k in range(D)])
    frame.insert(0, "item", np.arange(n))
    return frame.assign(constant=7.0, note="text")


def put(store: Store, frame: pd.DataFrame, cuts=(250, 400), group=90, prefix="features"):
    """Write the table in three files: Parquet, JSON lines, Parquet."""
    edges = [0, *cuts, len(frame)]
    for k, (start, stop) in enumerate(pairwise(edges)):
        part = frame.iloc[start:stop]
        if k == 1:
            store.create(
                f"{prefix}/{k}.jsonl",
                part.to_json(orient="records", lines=True, double_precision=15).encode(),
            )
            continue
        buffer = io.BytesIO()
        written = pa.Table.from_pandas(part, preserve_index=False)
        pa.parquet.write_table(written, buffer, row_group_size=group)
        store.create(f"{prefix}/{k}.parquet", buffer.getvalue())
    return store.list(prefix)


def test_without_gaps_it_is_sklearns_scaling_and_pca(dask_client, store):
    frame = table()
    shared = fit_shared(dask_client, store, put(store, frame), components=4, rows=70)
    values = feature_table(frame).values
    scaled = StandardScaler().fit_transform(values)
    pca = PCA(4, svd_solver="full").fit(scaled)
    expected = pca.transform(scaled) * signs_of(pca.components_.T)
    np.testing.assert_allclose(shared.map(values), expected, atol=1e-9)
    assert shared.columns == (*(f"f{k}" for k in range(D)), "constant")


def test_with_gaps_it_is_the_methods_own_space_of_the_whole_table(dask_client, tmp_path):
    frame = table(gaps=0.05)
    store = Store.at(tmp_path)
    shared = fit_shared(dask_client, store, put(store, frame), components=5, rows=70)
    read = feature_table(frame)
    original = original_space(read.values, read.columns)
    reduced = reduced_space(original, read.values, 5, rng=np.random.default_rng())
    np.testing.assert_array_equal(shared.steps[0].flagged, original.steps[0].flagged)
    np.testing.assert_array_equal(shared.steps[1].kept, original.steps[1].kept)
    np.testing.assert_allclose(shared.map(read.values), reduced.map(read.values), atol=1e-9)


def test_one_worker_and_two_give_the_same_bytes(dask_client, tmp_path):
    store = Store.at(tmp_path)
    parts = put(store, table(gaps=0.05))
    with local_client(1) as alone, alone.cluster:
        first = fit_shared(alone, store, parts, components=5, rows=70)
    second = fit_shared(dask_client, store, parts, components=5, rows=70)
    assert feature_map_bytes(first) == feature_map_bytes(second)


def test_an_embedding_is_its_columns(dask_client, tmp_path):
    frame = table()
    columns = [f"f{k}" for k in range(D)]
    lists = frame[["item"]].assign(embedding=list(frame[columns].to_numpy()))
    store = Store.at(tmp_path)
    flat = fit_shared(
        dask_client, store, put(store, frame[["item", *columns]], prefix="a"), components=3
    )
    shared = fit_shared(dask_client, store, put(store, lists, prefix="b"), components=3)
    assert shared.columns == tuple(f"embedding_{k}" for k in range(D))
    values = frame[columns].to_numpy()
    np.testing.assert_allclose(shared.map(values), flat.map(values), rtol=1e-9, atol=1e-9)


def test_there_are_never_more_components_than_the_rank(dask_client, tmp_path):
    frame = table(40)[["item", "f0", "f1"]].assign(again=lambda f: f["f0"] * 2 + 1)
    store = Store.at(tmp_path)
    shared = fit_shared(dask_client, store, put(store, frame, cuts=(10, 20)), components=99)
    assert shared.n_out == 2


def test_extreme_magnitudes_do_not_overflow(dask_client, tmp_path):
    frame = table()[["item", "f0", "f1"]]
    frame["f1"] *= 1e300 / frame["f1"].abs().max()
    store = Store.at(tmp_path)
    shared = fit_shared(dask_client, store, put(store, frame), components=2)
    read = feature_table(frame)
    original = original_space(read.values, read.columns)
    reduced = reduced_space(original, read.values, 2, rng=np.random.default_rng())
    np.testing.assert_allclose(shared.map(read.values), reduced.map(read.values), atol=1e-9)


def test_files_that_differ_in_their_columns_are_refused(dask_client, tmp_path):
    store = Store.at(tmp_path)
    parts = put(store, table())
    parts += put(store, table().drop(columns=["f3", "f4"]), prefix="fewer")
    with refused(FeatureError, "part_lacks_columns", count=2, columns=["f3", "f4"]):
        fit_shared(dask_client, store, parts, components=2)
    parts = parts[:3] + put(store, table().assign(f5="text"), prefix="text")
    with refused(FeatureError, "numbers_in_other_files", count=1, columns=["f5"]):
        fit_shared(dask_client, store, parts, components=2)


def test_a_table_that_tells_nothing_apart_is_refused(dask_client, tmp_path):
    store = Store.at(tmp_path)
    parts = put(store, table()[["item", "constant", "note"]])
    with refused(FeatureError, "no_column_varies", columns=("constant",)):
        fit_shared(dask_client, store, parts, components=2)
    with refused(FeatureError, "too_few_components", components=0):
        fit_shared(dask_client, store, parts, components=0)
    with refused(FeatureError, "no_feature_files"):
        fit_shared(dask_client, store, [], components=1)


def test_the_version_is_of_the_content_and_nothing_is_overwritten(dask_client, store):
    parts = put(store, table())
    shared = fit_shared(dask_client, store, parts, components=4)
    other = fit_shared(dask_client, store, parts, components=3)
    version = write_shared(store, "shared/one", shared)
    assert version == shared_version(shared) != shared_version(other)
    assert write_shared(store, "shared/one", shared) == version
    with pytest.raises(Exists):
        write_shared(store, "shared/one", other)
    assert feature_map_bytes(read_shared(store, "shared/one")) == feature_map_bytes(shared)


def test_the_reduced_table_is_the_table_mapped(dask_client, store):
    frame = table(gaps=0.05)
    parts = put(store, frame)
    shared = fit_shared(dask_client, store, parts, components=4, rows=70)
    written = reduce_parts(dask_client, store, parts, shared, "reduced", rows=70)
    assert [one.key for one in store.list("reduced")] == [one.key for one in written]
    read = pd.concat(
        [pd.read_parquet(io.BytesIO(store.read(one.key))) for one in written], ignore_index=True
    )
    assert read.columns.tolist() == ["item", *component_names(4)]
    assert read["item"].tolist() == frame["item"].tolist()
    expected = shared.map(feature_table(frame).values)
    np.testing.assert_allclose(read.drop(columns="item"), expected, atol=1e-9)
    assert reduce_parts(dask_client, store, parts, shared, "reduced", rows=70) == written


def test_it_is_fitted_again_only_when_columns_come_or_go(dask_client, tmp_path):
    store = Store.at(tmp_path)
    parts = put(store, table())
    shared = fit_shared(dask_client, store, parts, components=4)
    assert needs_refit(dask_client, store, parts, None).code == "no_shared_transform"
    assert needs_refit(dask_client, store, parts, shared) is None
    more_items = put(store, table(900, seed=1), prefix="later")
    assert needs_refit(dask_client, store, more_items, shared) is None
    changed = put(store, table().rename(columns={"f2": "g"}), prefix="changed")
    why = needs_refit(dask_client, store, changed, shared)
    assert why.code == "columns_new_and_gone"
    assert (why.fields["new"], why.fields["gone"]) == (["g"], ["f2"])


def _peak() -> float:
    """Most memory this process ever held, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def test_a_table_larger_than_a_worker_may_hold_is_fitted_and_reduced(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "features").mkdir()
    n_files, n, d = 5, 125_000, 64
    total = 0
    for k in range(n_files):
        values = rng.normal(size=(n, d))
        total += values.nbytes
        columns = {"item": np.arange(k * n, (k + 1) * n)}
        columns |= {f"f{j}": values[:, j] for j in range(d)}
        path = tmp_path / "features" / f"{k}.parquet"
        pa.parquet.write_table(pa.table(columns), path, row_group_size=25_000, use_dictionary=False)
    del values, columns
    store = Store.at(tmp_path)
    parts = store.list("features")
    limit = 560 << 20
    with local_client(1, memory=limit) as client, client.cluster:
        before = max(client.run(_peak).values())
        shared = fit_shared(client, store, parts, components=8, rows=25_000)
        written = reduce_parts(client, store, parts, shared, "reduced", rows=25_000)
        after = max(client.run(_peak).values())
        spilled = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk)
    assert sum(one.rows for one in written) == n_files * n
    assert shared.n_out == 8
    assert before * 2**20 + total > limit
    assert after * 2**20 < limit
    assert set(spilled.values()) == {0}
