"""The toy policy is for a copy of the package: imported here, it would be every other test's too."""

collect_ignore = ["toy_policy.py"]
