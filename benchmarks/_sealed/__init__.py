"""Parts of `benchmarks/sealed_frontier.py`."""
