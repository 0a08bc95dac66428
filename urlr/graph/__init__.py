"""The comparison graph."""
