"""flows -> tasks -> urlr, never back; and the command starts without anything heavy."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
STORAGE = {"fsspec", "s3fs", "boto3", "botocore", "aiobotocore", "aiohttp"}
FOREIGN_TO_THE_METHOD = {"tasks", "flows", "prefect", "dask", "distributed", "mlflow"} | STORAGE
FLOWS = {"flows/nightly.py", "flows/scoring.py", "flows/study.py"}
OPENERS = {"open", "read_bytes", "read_text", "write_bytes", "write_text", "fdopen", "mkstemp"}
READERS = {"read_csv", "read_parquet", "read_json", "to_csv", "to_parquet", "to_json", "load"}


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(nodes: Iterator[ast.AST]) -> set[str]:
    """Top-level packages that the nodes import."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            assert node.module is not None
            found.add(node.module.partition(".")[0])
    return found


def everywhere(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text()))


def at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run when the module is imported: all but the bodies of functions."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from at_import(node)


def test_every_room_has_modules():
    assert all(len(modules(room)) > 1 for room in ("urlr", "tasks", "flows"))


@pytest.mark.parametrize("path", modules("urlr"), ids=named)
def test_the_method_knows_no_task_flow_or_orchestrator(path):
    assert not imported(everywhere(path)) & FOREIGN_TO_THE_METHOD


@pytest.mark.parametrize("path", modules("tasks"), ids=named)
def test_tasks_know_no_flow(path):
    assert "flows" not in imported(everywhere(path))


@pytest.mark.parametrize("path", modules("tasks"), ids=named)
def test_tasks_know_no_prefect(path):
    assert "prefect" not in imported(everywhere(path))


@pytest.mark.parametrize("path", modules("tasks") + modules("flows"), ids=named)
def test_one_module_knows_the_object_storage(path):
    assert not imported(everywhere(path)) & STORAGE or named(path) == "tasks/bucket.py"


@pytest.mark.parametrize("path", modules("tasks") + modules("flows"), ids=named)
def test_one_module_knows_mlflow(path):
    assert (
        "mlflow" not in imported(everywhere(path))
        or named(path) == "tasks/registry/mlflow_client.py"
    )


@pytest.mark.parametrize("path", modules("tasks") + modules("flows"), ids=named)
def test_nothing_of_the_pipeline_stack_is_loaded_at_import(path):
    """But for Prefect in the modules of flows, which nobody else loads at import."""
    found = imported(at_import(ast.parse(path.read_text())))
    allowed = {"prefect"} if named(path) in FLOWS else set()
    assert found & {"mlflow", "prefect", "dask", "distributed", "dask_ml"} == allowed


@pytest.mark.parametrize("path", modules("flows"), ids=named)
def test_a_flow_is_loaded_only_by_the_command_that_runs_it(path):
    loaded = {
        node.module
        for node in at_import(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
    }
    assert not loaded & {name.removesuffix(".py").replace("/", ".") for name in FLOWS}


@pytest.mark.parametrize(
    "path", [path for path in modules("urlr") if path.name != "model_file.py"], ids=named
)
def test_the_method_opens_no_file(path):
    called = {
        node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        for node in everywhere(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
    }
    assert not called & (OPENERS | READERS)


def test_a_store_in_a_directory_loads_no_object_storage():
    tree = ast.parse((ROOT / "tasks" / "bucket.py").read_text())
    assert not imported(at_import(tree)) & STORAGE


@pytest.mark.parametrize(
    "name", ["cli", "doctor_command", "ending", "fit_command", "report_command"]
)
def test_the_command_imports_only_the_standard_library_at_first(name):
    tree = ast.parse((ROOT / "flows" / f"{name}.py").read_text())
    assert imported(at_import(tree)) <= set(sys.stdlib_module_names) | {"flows"}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_loads_nothing_heavy(option):
    script = (
        "import sys\n"
        "from flows.cli import main\n"
        "try:\n"
        f"    main(['{option}'])\n"
        "except SystemExit as end:\n"
        "    assert end.code in (0, None), end.code\n"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'scipy', 'numba', 'sklearn', 'urlr', 'tasks'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "urlr" in done.stdout


@pytest.mark.parametrize("module", ["tasks.registry.verifying", "tasks.train", "flows.nightly"])
def test_processes_of_a_night_load_no_more_than_they_need(module):
    """Every night starts five of them or more; scipy.stats alone takes a second."""
    script = (
        "import sys\n"
        f"import {module}\n"
        "heavy = {'scipy.stats', 'sklearn', 'matplotlib', 'mlflow', 'bokeh'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_names_of_the_method_are_what_they_were_whatever_was_loaded_before():
    script = (
        "import importlib, pathlib, urlr\n"
        "for path in pathlib.Path(urlr.__file__).parent.glob('[a-z]*.py'):\n"
        "    importlib.import_module(f'urlr.{path.stem}')\n"
        "assert set(urlr.__all__) <= set(dir(urlr))\n"
        "functions = ('fit', 'load', 'preflight', 'vote_table', 'outlier_path')\n"
        "assert all(callable(getattr(urlr, name)) for name in functions)\n"
        "assert not [name for name in urlr.__all__ if getattr(urlr, name, None) is None]\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_checks_load_nothing_heavy_at_first_since_they_may_have_to_say_that_it_cannot_be_loaded():
    script = (
        "import sys\n"
        "import tasks.doctor\n"
        "heavy = {'numpy', 'pandas', 'pydantic', 'urlr', 'packaging'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def asked_for(name: str, *extras: str) -> dict[str, str]:
    """Versions installed here of all that a package asks for, and that those ask for in turn."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for line in metadata.requires(one[0]) or []:
            wanted = Requirement(line)
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": one[1]}):
                continue
            known = canonicalize_name(wanted.name)
            found[known] = metadata.version(known)
            waiting += [(known, extra) for extra in ("", *wanted.extras)]
    return found


def test_every_package_is_pinned_as_it_is_installed():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    pinned = {canonicalize_name(name): version for name, version in pins}
    installed = asked_for("urlr", "dev")
    assert {"numpy", "prefect", "mlflow", "pytest"} <= set(installed)
    assert {name: pinned.get(name) for name in installed} == installed
