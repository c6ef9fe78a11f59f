"""Float kernel of `mblt.constant`."""

from __future__ import annotations

from xdsl.ir import Operation

from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, shape_of


def constant(op: Operation, scope: Scope) -> Kernel:
    """The data of the constant; read once, when the program is compiled."""
    value = scope.tensor(op.properties["value"]).reshape(shape_of(op.results[0]))
    return lambda: value


KERNELS: dict[str, KernelFactory] = {"mblt.constant": constant}
