"""The process that verifies versions; see `verifying.py`."""

from tasks.registry.verifying import main

main()
