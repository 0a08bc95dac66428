"""The report people open in the morning: an overview of the night and a page per attribute."""
