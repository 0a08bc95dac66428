"""One flow per occasion, and the `urlr` command."""
