"""Features: the table, its columns, and the maps from raw columns to the space of a fit."""
