"""The pages of experiments: what is counted from their events, and how it is drawn."""
