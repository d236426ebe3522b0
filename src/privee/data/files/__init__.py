"""Files: their formats, how much they may hold, and CSV and Parquet as Arrow tables."""
