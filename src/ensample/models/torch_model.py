"""Networks of the user's own, by torch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ensample.errors import WrongType
from ensample.extras import package, require
from ensample.models.networks import Nets
from ensample.models.neural import Trained
from ensample.models.numpy_training import NumpyTrainedEnsemble
from ensample.randomness import Address, Stream


@dataclass(frozen=True)
class TorchModel(Trained):
    """E[Y | x] is a torch module of x: `Neural`'s ensemble with modules of your own.

    `module_factory(d)` makes a `torch.nn.Module` that takes rows of d features [B, d] and gives [B] or [B, 1]. It is called
    for every member, whose initial parameters W^j are those that the module comes with; members are then trained together,
    by `torch.func.vmap` over stacked parameters, in double precision on the CPU. Everything else is as in `Neural`: units,
    perturbed rewards, the pull to W^j, the memory. What `prior` multiplies is a module of the same make that is never
    trained, divided by the typical size of its outputs.

    ```python
    def module(d):
        return torch.nn.Sequential(torch.nn.Linear(d, 50), torch.nn.GELU(), torch.nn.Linear(50, 1))

    policy = es.EnsembleSampling(30, model=es.TorchModel(module)).start(arms)
    ```

    Modules are used as functions of their parameters: dropout is off, and buffers are refused. Random numbers come from the
    policy's seed, and torch's own generator is left alone. A replay gives the same bits on the same machine with the same
    version of torch and number of its threads. A snapshot has the parameters and not the module: `load(path, recipe=...)`.

    It needs torch: `pip install torch`. Nothing is proved.

    Reference: as for `Neural`.
    """

    module_factory: Callable[[int], Any]
    ensemble_of: ClassVar[type[NumpyTrainedEnsemble]] = NumpyTrainedEnsemble

    def __post_init__(self) -> None:
        if not callable(self.module_factory):
            raise WrongType(
                "module_factory",
                self.module_factory,
                "a function of the number of features that makes a module",
            )
        self.check_training()

    def nets(self, dim: int, size: int, address: Address) -> Nets:
        require("torch", user="TorchModel")
        made: Nets = package("ensample.models.torch_nets", "TorchModel").TorchNets(
            self.module_factory, dim, size, address.generator(Stream.INITIAL, 2)
        )
        return made
