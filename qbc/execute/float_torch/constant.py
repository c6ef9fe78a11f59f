"""Float kernel of `mblt.constant`."""

from __future__ import annotations

from xdsl.ir import Operation

from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope


def constant(op: Operation, scope: Scope) -> Kernel:
    """The data of the constant; read once, when the program is compiled."""
    value = scope.tensor(op.properties["value"]).reshape(op.results[0].type.get_shape())  # type: ignore[attr-defined]
    return lambda: value


KERNELS: dict[str, KernelFactory] = {"mblt.constant": constant}
