"""flows -> tasks -> urlr, never back; and the command starts without anything heavy."""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

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


def offending(paths: list[Path], wrong: Callable[[Path], object]) -> dict[str, object]:
    """What is wrong, by the name of the module it is wrong with."""
    return {named(path): found for path in paths if (found := wrong(path))}


def imported_anywhere(*names: str) -> Callable[[Path], set[str]]:
    return lambda path: imported(everywhere(path)) & set(names)


def failed(script: str) -> str:
    """What a fresh process says of the script, nothing if it ends well."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    return f"exit code {done.returncode}: {done.stderr}" if done.returncode else ""


def test_every_room_has_modules():
    assert all(len(modules(room)) > 1 for room in ("urlr", "tasks", "flows"))


def test_the_method_knows_no_task_flow_or_orchestrator():
    assert offending(modules("urlr"), imported_anywhere(*FOREIGN_TO_THE_METHOD)) == {}


def test_tasks_know_no_flow():
    assert offending(modules("tasks"), imported_anywhere("flows")) == {}


def test_tasks_know_no_prefect():
    assert offending(modules("tasks"), imported_anywhere("prefect")) == {}


def test_one_module_knows_the_object_storage():
    found = offending(modules("tasks") + modules("flows"), imported_anywhere(*STORAGE))
    assert set(found) == {"tasks/bucket.py"}, found


def test_one_module_knows_mlflow():
    found = offending(modules("tasks") + modules("flows"), imported_anywhere("mlflow"))
    assert set(found) == {"tasks/registry/mlflow_client.py"}, found


def test_nothing_of_the_pipeline_stack_is_loaded_at_import():
    """But for Prefect in the modules of flows, which nobody else loads at import."""
    stack = {"mlflow", "prefect", "dask", "distributed", "dask_ml"}
    found = offending(
        modules("tasks") + modules("flows"),
        lambda path: imported(at_import(ast.parse(path.read_text()))) & stack,
    )
    assert found == {name: {"prefect"} for name in FLOWS}


def test_a_flow_is_loaded_only_by_the_command_that_runs_it():
    flows = {name.removesuffix(".py").replace("/", ".") for name in FLOWS}

    def loaded(path: Path) -> set[str | None]:
        nodes = at_import(ast.parse(path.read_text()))
        return flows & {node.module for node in nodes if isinstance(node, ast.ImportFrom)}

    assert offending(modules("flows"), loaded) == {}


def test_the_method_opens_no_file():
    def opened(path: Path) -> set[str]:
        return (OPENERS | READERS) & {
            node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            for node in everywhere(path)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
        }

    assert set(offending(modules("urlr"), opened)) == {"urlr/model_file.py"}


def test_a_store_in_a_directory_loads_no_object_storage():
    tree = ast.parse((ROOT / "tasks" / "bucket.py").read_text())
    assert not imported(at_import(tree)) & STORAGE


def test_the_command_imports_only_the_standard_library_at_first():
    names = ["cli", "doctor_command", "ending", "fit_command", "report_command"]
    known = set(sys.stdlib_module_names) | {"flows"}
    found = offending(
        [ROOT / "flows" / f"{name}.py" for name in names],
        lambda path: imported(at_import(ast.parse(path.read_text()))) - known,
    )
    assert found == {}


def test_help_loads_nothing_heavy():
    script = (
        "import contextlib, io, sys\n"
        "from flows.cli import main\n"
        "for option in ('--help', '--version'):\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as shown:\n"
        "        try:\n"
        "            main([option])\n"
        "        except SystemExit as end:\n"
        "            assert end.code in (0, None), (option, end.code)\n"
        "    assert shown.getvalue().startswith(('usage: urlr', 'urlr ')), option\n"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'scipy', 'numba', 'sklearn', 'urlr', 'tasks'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)\n"
    )
    assert failed(script) == ""


def test_processes_of_a_night_load_no_more_than_they_need():
    """Every night starts five of them or more; scipy.stats alone takes a second."""
    script = (
        "import sys\n"
        "import {module}\n"
        "heavy = {{'scipy.stats', 'sklearn', 'matplotlib', 'mlflow', 'bokeh'}}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)\n"
    )
    started = ("tasks.registry.verifying", "tasks.train", "flows.nightly")
    found = {module: failed(script.format(module=module)) for module in started}
    assert found == dict.fromkeys(started, "")


def test_names_of_the_method_are_what_they_were_whatever_was_loaded_before():
    script = (
        "import importlib, pathlib, urlr\n"
        "here = pathlib.Path(urlr.__file__).parent\n"
        "for path in here.rglob('[a-z]*.py'):\n"
        "    parts = path.relative_to(here.parent).with_suffix('').parts\n"
        "    importlib.import_module('.'.join(parts))\n"
        "assert set(urlr.__all__) <= set(dir(urlr))\n"
        "functions = ('fit', 'load', 'preflight', 'vote_table', 'outlier_path')\n"
        "assert all(callable(getattr(urlr, name)) for name in functions)\n"
        "assert not [name for name in urlr.__all__ if getattr(urlr, name, None) is None]\n"
    )
    assert failed(script) == ""


def test_checks_load_nothing_heavy_at_first_since_they_may_have_to_say_that_it_cannot_be_loaded():
    script = (
        "import sys\n"
        "import tasks.doctor\n"
        "heavy = {'numpy', 'pandas', 'pydantic', 'urlr', 'packaging'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)\n"
    )
    assert failed(script) == ""


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
