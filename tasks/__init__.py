"""One verb per module around the method: what reads, writes and trains."""
