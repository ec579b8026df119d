"""The log of an experiment as a table, and as files of several formats."""
