"""Networks that torch computes: m modules of one make, by `torch.func.vmap`.

All parameters are one vector of doubles, as `Nets` has it: for each parameter of the module those
of all members, [m, ...]. Tensors are views of it, so nothing is copied on the way in.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.random import Generator
from torch.func import functional_call, vmap

from ensample.errors import InvalidArgument
from ensample.models.networks import GradientOf, Nets
from ensample.types import FloatArray

EXPECTED = (
    "a function of the number of features d that makes a torch.nn.Module, [B, d] -> [B] or [B, 1]"
)
# modules, and rows of features, from which the typical sizes of parameters and outputs are taken
EXAMPLES, ROWS = (16, 64)


class ParameterPlace(NamedTuple):
    """A parameter of the module in the vector of all."""

    name: str
    shape: tuple[int, ...]
    begin: int
    end: int


class TorchNets(Nets):
    """m networks R^d -> R, each as `factory(d)` makes it."""

    keeps_draws = True

    def __init__(self, factory: Callable[[int], Any], dim: int, size: int, rng: Generator) -> None:
        self.factory, self.dim, self.size = factory, dim, size
        examples = self._made(EXAMPLES, rng)
        self.module = examples[0]
        self.parts: list[ParameterPlace] = []
        for name, parameter in self.module.named_parameters():
            begin = self.parts[-1].end if self.parts else 0
            self.parts.append(
                ParameterPlace(
                    name, tuple(parameter.shape), begin, begin + size * parameter.numel()
                )
            )
        if not self.parts:
            raise InvalidArgument("module_factory", factory, f"{EXPECTED}, with parameters")
        self.count = self.parts[-1].end
        self._spreads = np.concatenate(
            [np.full(part.end - part.begin, spread(part.name, examples)) for part in self.parts]
        )
        self.gain = self._gain(examples, rng)

    def _made(self, count: int, rng: Generator) -> list[Any]:
        """Return modules that follow from `rng` alone; torch's own generator is left alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(1 << 62)))
            modules = [self.factory(self.dim) for _ in range(count)]
        for module in modules:
            if not isinstance(module, torch.nn.Module):
                raise InvalidArgument(
                    "module_factory",
                    self.factory,
                    f"{EXPECTED}, and it made {type(module).__name__}",
                )
            if any(True for _ in module.buffers()):
                buffers = "such as those of batch normalisation: members are their parameters"
                expected = f"a module without buffers, {buffers}"
                raise InvalidArgument("module_factory", self.factory, expected)
            module.double().eval()
        return modules

    def _gain(self, examples: list[Any], rng: Generator) -> float:
        """Return the standard deviation of outputs for features that are standard normal."""
        rows = torch.from_numpy(rng.standard_normal((ROWS, self.dim)))
        with torch.no_grad():
            try:
                outputs = [flat(module(rows), ROWS) for module in examples]
            except (RuntimeError, ValueError, TypeError) as error:
                raise InvalidArgument(
                    "module_factory", self.factory, f"{EXPECTED} ({error})"
                ) from error
        found = float(torch.stack(outputs).std())
        return found if math.isfinite(found) and found > 0.0 else 1.0

    def draw(self, rng: Generator) -> FloatArray:
        parameters = [dict(module.named_parameters()) for module in self._made(self.size, rng)]
        found = np.empty(self.count)
        for part in self.parts:
            found[part.begin : part.end] = (
                torch.stack([one[part.name] for one in parameters]).detach().numpy().ravel()
            )
        return found

    def spreads(self) -> FloatArray:
        return self._spreads

    def stacked(self, weights: FloatArray) -> dict[str, torch.Tensor]:
        """Return views of a vector [n]: the parameters of all members, [m, ...] each."""
        return {
            part.name: torch.from_numpy(weights[part.begin : part.end]).view(self.size, *part.shape)
            for part in self.parts
        }

    def member(self, weights: FloatArray, member: int, rows: FloatArray) -> FloatArray:
        mine = {name: values[member] for name, values in self.stacked(weights).items()}
        with torch.no_grad():
            return np.asarray(self._applied(mine, torch.from_numpy(rows)).numpy())

    def differentiate(self, weights: FloatArray, rows: FloatArray) -> tuple[FloatArray, GradientOf]:
        stacked = {name: values.requires_grad_() for name, values in self.stacked(weights).items()}
        parameters = list(stacked.values())
        with torch.enable_grad():
            outputs = vmap(self._applied, in_dims=(0, None))(stacked, torch.from_numpy(rows))

        def gradient_of(slopes: FloatArray) -> FloatArray:
            by = torch.from_numpy(slopes)
            found = torch.autograd.grad(
                outputs, parameters, by, allow_unused=True, materialize_grads=True
            )
            return np.concatenate([values.numpy().ravel() for values in found])

        return np.ascontiguousarray(outputs.detach().numpy()), gradient_of

    def outputs(self, weights: FloatArray, rows: FloatArray) -> FloatArray:
        with torch.no_grad():
            outputs = vmap(self._applied, in_dims=(0, None))(
                self.stacked(weights), torch.from_numpy(rows)
            )
        return np.ascontiguousarray(outputs.numpy())

    def _applied(self, parameters: dict[str, torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
        return flat(functional_call(self.module, parameters, (rows,)), len(rows))


def flat(outputs: torch.Tensor, rows: int) -> torch.Tensor:
    """Return [B] of [B] or [B, 1]."""
    if outputs.shape not in ((rows,), (rows, 1)):
        raise ValueError(f"of {rows} rows it made {tuple(outputs.shape)}")
    return outputs.reshape(rows)


def spread(name: str, modules: list[Any]) -> float:
    """Return the standard deviation of a parameter's draws; 1 where all are alike."""
    drawn = torch.stack([dict(module.named_parameters())[name].detach() for module in modules])
    return float(drawn.std(correction=0)) or 1.0
