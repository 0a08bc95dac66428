"""Shared by the tests of the command: a way to run it and to put files before it."""

from pathlib import Path

import pytest

from flows import cli


class Command:
    """Runs `urlr` in this process, in a directory of its own."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.code: int | None = None
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        try:
            self.code = cli.main(arguments)
        except SystemExit as end:
            self.code = end.code if isinstance(end.code, int) else 0
        self.out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.out + self.err
        return self.code

    def put(self, name: str, content: str | bytes) -> str:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def refusal(self, *arguments: str) -> str:
        """The one line of complaint of a command that must fail and leave nothing behind."""
        before = sorted(Path().rglob("*"))
        assert self(*arguments) == 1, self.out
        assert self.out == ""
        assert self.err.startswith("urlr: ")
        assert self.err.count("\n") == 1
        assert self.err.rstrip("\n").isprintable()
        assert "URLR_DEBUG" not in self.err
        assert sorted(Path().rglob("*")) == before
        return self.err


@pytest.fixture(params=["robust", "paper"])
def method(request) -> tuple[str, ...]:
    """Options of `urlr fit` for either method; intervals take most of the default's time."""
    return {"robust": ("--replicates", "0"), "paper": ("--method", "paper")}[request.param]


@pytest.fixture
def command(tmp_path, monkeypatch, capsys) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys)
