"""Speed as ratios, other libraries, and a long run of the service.

Start it with `python -m benchmarks` in a clone.
"""
