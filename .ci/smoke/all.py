"""All extras together: every module of the package can be imported."""

import importlib
import pkgutil

import privee

names = [one.name for one in pkgutil.walk_packages(privee.__path__, "privee.")]
left_out = {"privee.__main__"}  # it runs the command
assert len(names) > 300, len(names)
for name in names:
    if name not in left_out:
        importlib.import_module(name)
