"""Modes of torch functions that look into, and change, how a model runs."""

import collections

import torch
from torch.overrides import TorchFunctionMode

Best = collections.namedtuple("Best", ["values", "indices"])
# Anything below is a mask, whether it is infinite or the lowest finite number.
MASKED = -1e30


class SelectionBorders(TorchFunctionMode):
    """While active, every top-k takes the lower index of a tie, and `closest` becomes the smallest
    distance from the last chosen value to the first that was left out.

    Equal values on both sides of the border are counted in `ties`; `closest` then takes the nearest
    other value. The inner top 2 of an expert group is a sum of values, for which a tie is harmless.
    """

    def __init__(self):
        super().__init__()
        self.closest = float("inf")
        self.ties = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in (torch.topk, torch.Tensor.topk):
            return self.select(*args, **kwargs)
        return func(*args, **kwargs)

    def select(self, values, k, dim=-1, **_):
        assert dim in (-1, values.dim() - 1)
        ordered = torch.sort(values, dim=-1, descending=True, stable=True)
        of_groups = values.dim() == 3 and values.shape[0] != 1
        if k < values.shape[-1] and not of_groups:
            self.measure(ordered.values, k)
        return Best(ordered.values[..., :k], ordered.indices[..., :k])

    def measure(self, ordered, k):
        """Rows are ordered; a row without a value behind the border has none to confuse."""
        rows = ordered.flatten(0, -2)
        rows = rows[rows[:, k] > MASKED]
        if len(rows) == 0:
            return
        is_tie = rows[:, k - 1] == rows[:, k]
        self.ties += is_tie.sum().item()
        distances = (rows - rows[:, k - 1 : k]).abs()
        distances[distances == 0] = float("inf")
        gaps = torch.where(is_tie, distances.amin(-1), rows[:, k - 1] - rows[:, k])
        self.closest = min(self.closest, gaps.min().item())


class DoublePrecision(TorchFunctionMode):
    """While active, a model that asks for f32 in its middle gets f64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        args = tuple(torch.float64 if item is torch.float32 else item for item in args)
        kwargs = {key: torch.float64 if item is torch.float32 else item
                  for key, item in (kwargs or {}).items()}
        return func(*args, **kwargs)
