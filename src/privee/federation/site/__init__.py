"""A site's part of a federated job: its columns, its model, its files, and what it lets in."""
