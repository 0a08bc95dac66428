"""Defects planted one at a time, to see that a test notices each: `python -m tests.mutants`."""
