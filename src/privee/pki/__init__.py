"""Certificates: a private CA, what it issues to every role, and a role's own identity."""
