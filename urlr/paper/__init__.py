"""The method of the paper, to the letter."""
