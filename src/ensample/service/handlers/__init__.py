"""Handlers: what each route does. A handler takes a `Call` and returns the answer."""
