"""All of our own extras together: every module can be imported, but for adapters to libraries that are not ours."""

import importlib
import pkgutil

import privee

names = [one.name for one in pkgutil.walk_packages(privee.__path__, "privee.")]
left_out = {"privee.__main__"}  # it runs the command
left_out |= {f"privee.adapters.{name}" for name in ("art", "mlflow", "_mlflow_model")}  # extras of their own
assert len(names) > 300, len(names)
for name in names:
    if name not in left_out:
        importlib.import_module(name)
