"""Budget policies: one file each, one contract (`base`), one registry. A file in this folder is found by itself."""

import importlib
import pkgutil

for _found in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_found.name}")
