"""The progress line: late on a terminal, rare in a log, never in the way."""

import io

import pytest

from flows import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_terminal_gets_one_line_that_rewrites_itself(clock):
    stream = Terminal()
    with progress.ProgressLine(stream=stream) as line:
        line("starting", 0.0)
        assert stream.getvalue() == ""
        clock[0] = 1.5
        line("following the path", 0.25)
        line("following the path", 0.26)
        clock[0] = 2.5
        line("following the path", 0.5)
    assert stream.getvalue() == (
        "\r\x1b[Kurlr: following the path 25% (2 s)"
        "\r\x1b[Kurlr: following the path 50% (2 s)\r\x1b[K"
    )


def test_a_log_gets_a_line_now_and_then(clock):
    stream = io.StringIO()
    with progress.ProgressLine(stream=stream) as line:
        for second in range(35):
            clock[0] = float(second)
            line("following the path", second / 35)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0] == "urlr: following the path 29% (10 s)"


def test_quiet_and_closed_streams_show_nothing(clock):
    stream = Terminal()
    clock[0] = 0.0
    line = progress.ProgressLine(quiet=True, stream=stream)
    clock[0] = 5.0
    line("x", 0.5)
    assert stream.getvalue() == ""

    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    clock[0] = 0.0
    with progress.ProgressLine(stream=Gone()) as line:
        clock[0] = 5.0
        line("x", 0.5)
