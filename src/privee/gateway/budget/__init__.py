"""Budget policies: one file each, one contract (`base`), one registry. A file in this folder is found by itself."""
