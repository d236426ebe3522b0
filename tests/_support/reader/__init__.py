"""A reader of the pages who does what they say: every block in its order, in an empty folder."""
