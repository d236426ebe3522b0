"""Exposure by column and by record."""
