"""Pages and figures of results; nothing here simulates. Needs the extra `lab`."""
