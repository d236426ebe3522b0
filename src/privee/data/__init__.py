"""Data in files: score files that are protected row by row."""
