"""The figures of a study: what is a line, which lines share a panel, how panels are drawn."""
