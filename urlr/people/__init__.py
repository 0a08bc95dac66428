"""Who voted: sides they prefer, tastes, errors, and groups that act together."""
