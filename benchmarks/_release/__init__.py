"""Parts of benchmarks/release.py."""
