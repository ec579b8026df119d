"""Pages and figures of results, a sub-package a page; nothing here simulates. Needs the extra `lab`."""
