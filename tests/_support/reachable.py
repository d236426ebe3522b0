"""What can be reached from an object, as a check that private columns cannot."""

import gc
import types

import numpy as np
import torch

SKIPPED = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)


def reachable_numbers(root: object) -> np.ndarray:
    """Every number in every array that can be reached from an object by following references."""
    seen, queue, found = {id(root)}, [root], [np.empty(0)]
    while queue:
        thing = queue.pop()
        if isinstance(thing, torch.Tensor):
            storage = torch.empty(0, dtype=thing.dtype).set_(thing.untyped_storage())  # the whole of it, not the slice
            found.append(storage.detach().double().numpy().ravel())
            found += [] if thing.grad is None else [thing.grad.double().numpy().ravel()]
        elif isinstance(thing, np.ndarray):
            base = thing if thing.base is None or not isinstance(thing.base, np.ndarray) else thing.base
            found.append(np.asarray(base, dtype=np.float64).ravel())
        for reference in gc.get_referents(thing):
            if id(reference) not in seen and not isinstance(reference, SKIPPED):
                seen.add(id(reference))
                queue.append(reference)
    return np.concatenate(found)
