"""Crowds whose truth is known."""
