"""The paper's tables and figures, one file for each kind of result."""
