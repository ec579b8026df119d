"""Figures of results; nothing here simulates. Needs the extra `lab`."""
