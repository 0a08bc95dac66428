"""Speed and memory against the stated bars: `python -m tests.bench --list`."""
