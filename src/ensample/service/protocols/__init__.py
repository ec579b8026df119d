"""Protocols of others: what their calls and answers look like, and what they mean to us."""
