"""Parts of benchmarks/growth.py."""
