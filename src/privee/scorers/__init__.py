"""Models of others as functions from rows to scores: what audits ask and adapters protect, a file for each library."""
