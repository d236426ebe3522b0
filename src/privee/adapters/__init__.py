"""Defenses inside the tools people already use: one file for each, none of which is imported before it is asked for."""
