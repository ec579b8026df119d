"""Places where the events of an experiment are kept: memory, SQLite, PostgreSQL."""
