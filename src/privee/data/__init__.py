"""Data: score files, datasets, the parties' own tables, who holds which columns, and which records are common."""
