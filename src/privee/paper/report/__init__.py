"""Results as a Markdown page."""
