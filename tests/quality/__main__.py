"""Run the methods over trials, write one row for each, and print how they compare."""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd

from tests.quality.methods import AUTO, FIXED_RATES, METHODS, NEVER_PRUNED, REFERENCE
from tests.quality.sets import VoteSet, arguments, faces, images, simulated
from tests.quality.trials import CONDITIONS, DENSITIES, ERROR_FREE, Condition, trial
from urlr.errors import UrlrError

READ = {"faces": faces, "images": images, "arguments": arguments}
"""Sets with data: they make up the means; the simulated set is shown apart."""
DRAWN = {"simulated": simulated, "leaning": partial(simulated, left_bias=0.3)}
"""Shown apart; in the second a third of the votes simply goes to the left."""
HAVE_TRUTH = ("faces", *DRAWN)
MEASURES = ["unseen", "held_out"]
KEY = ["set", "density", "condition", "seed", "method"]
COLUMNS = [*KEY, *MEASURES, "seconds"]
ONE_THREAD = dict.fromkeys(
    [f"{library}_NUM_THREADS" for library in ("OPENBLAS", "OMP", "MKL", "NUMBA")], "1"
)
Row = tuple[str, int, str, int, str, float, float, float]


@dataclass(frozen=True, slots=True)
class Work:
    """One trial and the methods still to be run on it."""

    data: Path
    name: str
    density: int
    condition: Condition
    seed: int
    methods: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}, density {self.density}, {self.condition}, seed {self.seed}"


def main() -> int:
    """Parse the command line, run what has no row yet, print the tables."""
    chosen = _options()
    names = [name for name in chosen.sets if name in DRAWN or _has_data(name, chosen.data)]
    chosen.out.mkdir(parents=True, exist_ok=True)
    file = chosen.out / "rows.csv"
    wanted = pd.MultiIndex.from_product(
        [names, chosen.densities, chosen.conditions, chosen.seeds, chosen.methods], names=KEY
    )
    sensible = wanted.get_level_values("set").isin(HAVE_TRUTH)
    wanted = wanted[sensible | (wanted.get_level_values("condition") != ERROR_FREE)]
    rows = _written(file)
    if chosen.fresh:
        rows = rows[~_keys(rows).isin(wanted)]
        rows.to_csv(file, index=False)
    work = _work(wanted[~wanted.isin(_keys(rows))], chosen.data)
    n_failed = _run(work, file, chosen.processes)
    rows = _written(file)
    rows = rows[_keys(rows).isin(wanted)]
    if rows.empty:
        _say("There is nothing to show.")
        return 1
    print_tables(rows)
    if n_failed:
        _say(f"{n_failed} results are missing; see the messages above.", sys.stderr)
    return 1 if n_failed else 0


FULL = {"seeds": list(range(10)), "densities": list(DENSITIES), "conditions": list(CONDITIONS)}
QUICK = {"seeds": [100, 101], "densities": [3], "conditions": ["as is", "reversed"]}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=__doc__)
    add = parser.add_argument
    names = "one or more, by name or its beginning: "
    add("--seeds", type=_seeds, help="such as 0-9 (as without this option) or 1,4")
    add("--sets", type=_sets, default=[*READ, *DRAWN], help="by comma; without this option all")
    add("--methods", nargs="+", action=_Names, known=METHODS, default=list(METHODS), help=names)
    add("--densities", type=_numbers, help="votes per item, by comma")
    add("--conditions", nargs="+", action=_Names, known=CONDITIONS, help=names)
    add("--data", type=Path, default=Path("../shared/data"), help="folder of the reference data")
    add("--out", type=Path, default=Path("quality-results"), help="folder of rows.csv")
    add("--processes", type=int, default=2)
    add("--quick", action="store_true", help="seeds 100-101, density 3, as is and reversed")
    add("--fresh", action="store_true", help="run also what rows.csv already has")
    chosen = parser.parse_args()
    for name, value in (QUICK if chosen.quick else FULL).items():
        if getattr(chosen, name) is None:
            setattr(chosen, name, value)
    return chosen


class _Names(argparse.Action):
    """Names out of a known list, each given whole or by its beginning; in the list's order."""

    def __init__(self, *args: Any, known: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = list(known)
        self.help = f"{self.help}{'; '.join(self.known)}".replace("%", "%%")

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        found: set[str] = {REFERENCE} & set(self.known)
        for value in values:
            meant = (
                [value] if value in self.known else [n for n in self.known if n.startswith(value)]
            )
            if not meant:
                parser.error(f"{option_string}: no {value!r}; there are {'; '.join(self.known)}")
            found.update(meant)
        setattr(namespace, self.dest, [name for name in self.known if name in found])


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _seeds(text: str) -> list[int]:
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return sorted({seed for part in ends for seed in range(part[0], part[-1] + 1)})


def _sets(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in READ and name not in DRAWN]:
        raise argparse.ArgumentTypeError(f"no set {', '.join(unknown)}")
    return names


def _has_data(name: str, data: Path) -> bool:
    try:
        _vote_set(name, data, 0)
    except FileNotFoundError as error:
        _say(f"{name} is skipped: {error.filename} is not there.", sys.stderr)
        return False
    return True


@lru_cache(maxsize=8)
def _vote_set(name: str, data: Path, seed: int) -> VoteSet:
    """The seed matters to sets that are drawn."""
    return DRAWN[name](seed) if name in DRAWN else READ[name](data)


def _written(file: Path) -> pd.DataFrame:
    """Rows of earlier runs; of a row written twice, the later."""
    if not file.exists() or file.stat().st_size == 0:
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(file).drop_duplicates(KEY, keep="last")


def _keys(rows: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(rows[KEY])


def _work(missing: pd.MultiIndex, data: Path) -> list[Work]:
    """Trials with something to do, sparse ones and the first seeds first."""
    methods: dict[tuple[str, int, Condition, int], list[str]] = {}
    for name, density, condition, seed, method in missing:
        methods.setdefault((name, int(density), condition, int(seed)), []).append(method)
    work = [Work(data, *key, methods=tuple(labels)) for key, labels in methods.items()]
    return sorted(work, key=lambda one: (one.seed, one.density))


def _run(work: Sequence[Work], file: Path, processes: int) -> int:
    """Run trials side by side, adding rows to the file as they come; how many failed."""
    n_failed = 0
    started = time.monotonic()
    # Fresh processes, which take the number of threads from here before they load anything.
    os.environ.update(ONE_THREAD)
    fresh = multiprocessing.get_context("spawn")
    with file.open("a", newline="") as stream, ProcessPoolExecutor(processes, fresh) as pool:
        writer = csv.writer(stream)
        if stream.tell() == 0:
            writer.writerow(COLUMNS)
        waiting = {pool.submit(run_one, one): one for one in work}
        try:
            for n_done, result in enumerate(as_completed(waiting), start=1):
                rows, failures = result.result()
                writer.writerows(rows)
                stream.flush()
                n_failed += len(failures)
                minutes = (time.monotonic() - started) / 60
                said = [f"{n_done} of {len(work)}, {minutes:.1f} min: {waiting[result]}", *failures]
                _say("\n    ".join(said), sys.stderr)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return n_failed


def run_one(work: Work) -> tuple[list[Row], list[str]]:
    """Rows of one trial, and what failed in words."""
    seed = work.seed if work.name in DRAWN else 0
    dealt = trial(
        _vote_set(work.name, work.data, seed),
        density=work.density,
        condition=work.condition,
        seed=work.seed,
    )
    rows: list[Row] = []
    failures: list[str] = []
    for method in work.methods:
        start = time.perf_counter()
        try:
            scores = METHODS[method](dealt.votes, dealt.features, work.seed)
        except UrlrError as error:
            failures.append(f"{method} failed: {error}")
            continue
        seconds = time.perf_counter() - start
        if not scores.index.equals(dealt.features.index) or not np.isfinite(scores).all():
            failures.append(f"{method} failed: it did not score every item.")
            continue
        taus = round(dealt.unseen_tau(scores), 6), round(dealt.held_out_tau(scores), 6)
        key = (work.name, work.density, work.condition, work.seed, method)
        rows.append((*key, *taus, round(seconds, 3)))
    return rows, failures


def print_tables(rows: pd.DataFrame) -> None:
    """Print the mean of the real sets, each set alone, each density, and the time taken."""
    gains = _gains(rows)
    names = [name for name in (*READ, *DRAWN) if name in set(rows["set"])]
    real = [name for name in names if name not in DRAWN] or names
    pooled = gains[gains["set"].isin(real)]
    in_all = pooled.groupby("condition")["set"].nunique() == len(real)
    pooled = pooled[pooled["condition"].map(in_all)]
    densities = sorted(rows["density"].unique())
    mean = f"mean of {', '.join(real)}"
    _say(
        f"Kendall tau less that of {REFERENCE} in the same trial, unseen items / held-out votes on "
        f"seen items; for {REFERENCE}, its tau. Number of seeds: {rows['seed'].nunique()}."
    )
    _say_table(f"{mean}; votes per item: {', '.join(map(str, densities))}", _cells(pooled))
    for name in names:
        title = f"{name}, ± standard error of the difference over seeds"
        _say_table(title, _cells(gains[gains["set"] == name], errors=True))
    for density in densities if len(densities) > 1 else []:
        _say_table(f"density {density}, {mean}", _cells(pooled[pooled["density"] == density]))
    _say_rates(gains[gains["set"].isin(names)], real)
    seconds = rows.pivot_table(
        index="method", columns="density", values="seconds", aggfunc="median"
    )
    seconds.columns = [f"density {density}" for density in seconds.columns]
    _say_table(
        "seconds a fit takes, median of all sets and conditions", seconds.map("{:.2f}".format)
    )


def _say_rates(gains: pd.DataFrame, real: Sequence[str]) -> None:
    """Print what the automatic rate and the best fixed one gain over never pruning."""
    never = gains[gains["method"] == NEVER_PRUNED]
    if never.empty:
        return
    same_trial = KEY[:-1]
    paired = gains.merge(never[[*same_trial, *MEASURES]], on=same_trial, suffixes=("", "_of_none"))
    for measure in MEASURES:
        paired[measure] -= paired[f"{measure}_of_none"]
    paired["set"] = paired["set"].where(~paired["set"].isin(real), "mean of the real sets")
    means = paired.groupby(["set", "condition", "method"])[MEASURES].mean()
    _say("\n**The automatic rate and the best fixed one, less never pruning, same model**\n")
    _say("| set | condition | auto | best fixed rate, of unseen items / of held-out votes |")
    _say("|---|---|---|---|")
    for name, condition in means.index.droplevel("method").unique():
        here = means.loc[(name, condition)]
        fixed = here.loc[[method for method in FIXED_RATES if method in here.index]]
        if AUTO not in here.index or fixed.empty:
            continue
        auto = " / ".join(_text(here.loc[AUTO, measure]) for measure in MEASURES)
        best = " / ".join(
            f"{_text(fixed[measure].max())} ({FIXED_RATES[str(fixed[measure].idxmax())]:.0%})"
            for measure in MEASURES
        )
        _say(f"| {name} | {condition} | {auto} | {best} |")


def _gains(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with their measures less those of the reference, which keeps its own."""
    same_trial = KEY[:-1]
    reference = rows[rows["method"] == REFERENCE]
    others = rows[rows["method"] != REFERENCE]
    paired = others.merge(reference, on=same_trial, suffixes=("", "_of_reference"))
    for measure in MEASURES:
        paired[measure] -= paired.pop(f"{measure}_of_reference")
    return pd.concat([reference, paired])[[*KEY, *MEASURES]]


def _cells(gains: pd.DataFrame, *, errors: bool = False) -> pd.DataFrame:
    """One text per method and condition; sets and densities weigh the same."""
    shown = ["method", "condition"]
    mean = gains.groupby([*shown, "set", "density"])[MEASURES].mean().groupby(shown).mean()
    by_seed = gains.groupby([*shown, "seed"])[MEASURES].mean()
    error = by_seed.groupby(shown).sem() if errors else mean * np.nan
    texts = {
        (method, condition): " / ".join(
            _text(mean.loc[(method, condition), measure], error.loc[(method, condition), measure])
            if method != REFERENCE
            else _text(mean.loc[(method, condition), measure]).lstrip("+")
            for measure in MEASURES
        )
        for method, condition in mean.index
    }
    cells = pd.Series(texts).unstack()
    return cells[[condition for condition in CONDITIONS if condition in cells]]


def _text(value: float, error: float = np.nan) -> str:
    """Three digits without the leading zero: +.012, or +.012±.004."""
    text = f"{value:+.3f}".replace("0.", ".", 1)
    return text if np.isnan(error) else text + f"±{error:.3f}".replace("0.", ".", 1)


def _say_table(title: str, cells: pd.DataFrame) -> None:
    """Print a table in markdown, the methods in their own order."""
    _say(f"\n**{title[0].upper()}{title[1:]}**\n")
    _say(f"| method | {' | '.join(cells.columns)} |")
    _say("|---" * (1 + len(cells.columns)) + "|")
    for method in (method for method in METHODS if method in cells.index):
        texts = [str(text) for text in cells.fillna("-").loc[method].to_numpy()]
        _say(f"| {method} | {' | '.join(texts)} |")


def _say(text: str, stream: TextIO | None = None) -> None:
    (stream or sys.stdout).write(text + "\n")
    (stream or sys.stdout).flush()


if __name__ == "__main__":
    # Fresh processes cannot find functions of a module that is called __main__.
    from tests.quality import __main__ as found_by_name

    sys.exit(found_by_name.main())
