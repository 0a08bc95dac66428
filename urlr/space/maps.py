"""Feature spaces: the way from raw features to the numbers a model works with.

Two are needed: the original space, for the ranking function, and a reduced one, in which outliers
can show. Both start from raw values, so that new items need nothing but their table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from urlr.arrays import Floats
from urlr.errors import FeatureError, ModelFileError
from urlr.messages import message
from urlr.space.prior import PriorSpace
from urlr.space.projections import PCA, KernelPCA
from urlr.space.steps import ArcSinh, ChiSquare, Impute, Standardise
from urlr.space.table import FeatureTable, refuse_infinite

Array = np.ndarray[Any, Any]
Step = Impute | ChiSquare | Standardise | ArcSinh | PCA | KernelPCA | PriorSpace
_STEPS: dict[str, type[Step]] = {
    step.kind: step
    for step in (Impute, ChiSquare, Standardise, ArcSinh, PCA, KernelPCA, PriorSpace)
}


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """A fitted sequence of steps from raw columns to a feature space."""

    columns: tuple[str, ...]
    """Raw columns, in the order `map` expects."""
    steps: tuple[Step, ...]

    @property
    def n_out(self) -> int:
        """Dimension of the space."""
        return self.steps[-1].n_out if self.steps else len(self.columns)

    def map(self, values: Floats) -> Floats:
        """Map (n_rows, n_columns) raw values, NaN where missing, to (n_rows, n_out)."""
        if np.ndim(values) != 2 or np.shape(values)[1] != len(self.columns):
            raise FeatureError(
                message("unmappable_shape", n_columns=len(self.columns), shape=np.shape(values))
            )
        # One memory layout, so that equal values give equal bits.
        mapped: Floats = np.ascontiguousarray(values, np.float64)
        for step in self.steps:
            mapped = step.apply(mapped)
        return mapped

    def then(self, later: FeatureMap) -> FeatureMap:
        """Map that does this and then `later`, which was fitted on what this one gives.

        Raises
        ------
        FeatureError
            `later` takes other columns than `component_names(self.n_out)`.
        """
        given = component_names(self.n_out)
        if later.columns != given:
            raise FeatureError(
                message(
                    "transform_of_other_columns",
                    n_wanted=len(later.columns),
                    wanted=later.columns,
                    n_given=len(given),
                    given=given,
                )
            )
        return FeatureMap(self.columns, (*self.steps, *later.steps))

    def select(self, table: FeatureTable) -> Floats:
        """Raw values of a table in the order of `columns`; columns not needed are left out."""
        if table.columns == self.columns:
            return table.values
        places = pd.Index(table.columns, dtype=object).get_indexer(
            pd.Index(self.columns, dtype=object)
        )
        lacking = [self.columns[k] for k in np.flatnonzero(places < 0)]
        if lacking:
            ignored = [name for name in lacking if name in table.ignored]
            count = len(lacking)
            raise FeatureError(
                message("columns_not_numeric", count=count, names=lacking, ignored=ignored)
                if ignored
                else message("lacking_columns", count=count, names=lacking)
            )
        return np.take(table.values, places, axis=1)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """A description fit for JSON, and named arrays: all there is to know."""
        steps: list[dict[str, Any]] = []
        arrays: dict[str, Array] = {}
        for place, step in enumerate(self.steps):
            described: dict[str, Any] = {"kind": step.kind}
            for name, kind in step.plain.items():
                value = getattr(step, name)
                described[name] = list(value) if kind == "names" else value
            steps.append(described)
            arrays |= {f"{place}.{name}": getattr(step, name) for name in step.arrays}
        return {"columns": list(self.columns), "steps": steps}, arrays

    @classmethod
    def from_state(cls, description: Mapping[str, Any], arrays: Mapping[str, Array]) -> FeatureMap:
        """Rebuild a map from `to_state`, checked part by part; its output is the same to the bit.

        Raises
        ------
        ModelFileError
            Something is missing, foreign, or does not fit the rest.
        """
        if not isinstance(description, Mapping):
            raise ModelFileError(message("map_without_description"))
        columns = _texts(description.get("columns"), message("columns_of_map"))
        if len(set(columns)) < len(columns):
            raise ModelFileError(message("map_repeats_column"))
        described = description.get("steps")
        if not isinstance(described, list):
            raise ModelFileError(message("map_without_steps"))
        steps: list[Step] = []
        width = len(columns)
        for place, one in enumerate(described):
            step = _step(one, arrays, place)
            flaw = (
                message("step_of_other_width", n_in=step.n_in, width=width)
                if step.n_in != width
                else step.flaw()
            )
            if flaw:
                raise ModelFileError(
                    message("damaged_step", place=place, kind=step.kind, flaw=flaw)
                )
            steps.append(step)
            width = step.n_out
        return cls(columns, tuple(steps))


def component_names(count: int) -> tuple[str, ...]:
    """Names of the columns of a table reduced to so many components: pc000, pc001, ..."""
    return tuple(f"pc{k:03}" for k in range(count))


def original_space(values: Floats, columns: Sequence[str], *, chi_square: int = 0) -> FeatureMap:
    """Space of the ranking function: gaps filled, [chi-square map,] columns standardised.

    Parameters
    ----------
    values : (n_items, n_features)
        Raw features, NaN where missing.
    columns : (n_features,)
        Their names.
    chi_square
        Sample steps (1 to 3) of the additive chi-square map, for histograms; 0 for none.

    Raises
    ------
    FeatureError
        No column varies; a value is infinite, or negative under the chi-square map.
    """
    if np.ndim(values) != 2 or np.shape(values)[1] != len(columns):
        raise FeatureError(
            message("values_of_other_shape", n_columns=len(columns), shape=np.shape(values))
        )
    values = np.ascontiguousarray(values, np.float64)
    refuse_infinite(values, columns)
    impute = Impute.fit(values)
    steps: list[Step] = [impute]
    mapped = impute.apply(values)
    if chi_square:
        chi = ChiSquare.fit(
            [columns[k] for k in impute.kept], len(impute.flagged), sample_steps=chi_square
        )
        steps.append(chi)
        mapped = chi.apply(mapped)
    standardise = Standardise.fit(mapped)
    if standardise.n_out == 0:
        raise FeatureError(
            message(
                "no_column_varies", n_columns=len(columns), columns=columns, n_items=len(values)
            )
        )
    return FeatureMap(tuple(columns), (*steps, standardise))


def reduced_space(
    original: FeatureMap,
    values: Floats,
    n_components: int,
    *,
    kernel: bool = False,
    gamma: float | None = None,
    exact_limit: int = 2000,
    rng: np.random.Generator,
) -> FeatureMap:
    """Space of the outlier search: the original space reduced by PCA or kernel PCA.

    Parameters
    ----------
    original
        Map to the space to reduce.
    values : (n_items, n_features)
        Raw features, in the order of its columns.
    n_components
        Dimension wanted; the result has fewer if the numerical rank is lower.
    kernel
        Kernel PCA with an RBF kernel instead of PCA.
    gamma
        Width parameter of the kernel, 1 / (dimension x variance) if None.
    exact_limit
        Rows up to which kernel PCA is exact, and number of landmarks beyond.
    rng
        Draws the landmarks; otherwise unused.
    """
    if n_components < 1:
        raise FeatureError(message("no_components", n_components=n_components))
    mapped = original.map(values)
    if len(mapped) == 0:
        raise FeatureError(message("no_items_to_reduce"))
    step: PCA | KernelPCA
    if kernel:
        step = KernelPCA.fit(mapped, n_components, gamma=gamma, exact_limit=exact_limit, rng=rng)
    else:
        step = PCA.fit(mapped, n_components)
    if step.n_out == 0:
        raise FeatureError(
            message("items_alike_at_gamma", n_items=len(mapped))
            if kernel and gamma is not None
            else message("items_alike", n_items=len(mapped))
        )
    return FeatureMap(original.columns, (*original.steps, step))


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ModelFileError(message("not_names", what=what))
    return tuple(value)


def _step(described: Any, arrays: Mapping[str, Array], place: int) -> Step:
    """One step, every part present and of the right type; whether they agree is not checked."""
    if not isinstance(described, Mapping):
        raise ModelFileError(message("no_step", place=place))
    kind = described.get("kind")
    cls = _STEPS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise ModelFileError(
            message("unknown_step", place=place, kind=kind, known=", ".join(_STEPS))
        )
    parts: dict[str, Any] = {}
    for name, wanted in cls.plain.items():
        what = message("part_of_step", name=name, place=place, kind=kind)
        value: Any = described.get(name)
        if wanted == "names":
            parts[name] = _texts(value, what)
        elif type(value).__name__ != wanted or not 0 <= value < np.inf:
            raise ModelFileError(message("no_number", what=what, wanted=wanted, value=value))
        else:
            parts[name] = value
    for name, (dtype, ndim) in cls.arrays.items():
        key = f"{place}.{name}"
        array: Any = arrays.get(key)
        if array is None:
            raise ModelFileError(message("lacking_array", key=key))
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
            found = f"{array.dtype} with {array.ndim}" if isinstance(array, np.ndarray) else "none"
            raise ModelFileError(
                message(
                    "array_of_other_kind",
                    key=key,
                    dtype=np.dtype(dtype).name,
                    ndim=ndim,
                    found=found,
                )
            )
        if not np.isfinite(array).all():
            raise ModelFileError(message("array_not_finite", key=key))
        parts[name] = np.ascontiguousarray(array)
    return cls(**parts)
