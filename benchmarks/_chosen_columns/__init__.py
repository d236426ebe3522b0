"""Parts of benchmarks/chosen_columns.py."""
