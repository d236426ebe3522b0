"""Defenses inside the tools people already use: one file for each, none of which is imported before it is asked for.

Each needs the library that it is named for, and nothing else that the core does not bring. See docs/adapters.md.
"""
