"""Votes as they arrive: ids, spelling, the table of votes, and the record every stage works on."""
