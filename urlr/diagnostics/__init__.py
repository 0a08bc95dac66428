"""What only a report asks about a fit."""
