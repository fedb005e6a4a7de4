# SPDX-License-Identifier: GPL-2.0-only
"""What figures are called: within a run, and where those of several kernels stand side by side."""

from collections.abc import Mapping
from dataclasses import dataclass

STOCK, SWATHE, PRISTINE = "stock", "swathe", "pristine"
NEWEST = "7.3"


@dataclass(frozen=True)
class KernelColumns:
    """The columns of one kernel: of the untouched tree, and with mm/unmap switched off and on.

    A run calls them pristine, stock and swathe, whichever kernel it measured.
    """

    series: str
    pristine: str
    stock: str
    swathe: str

    def names(self) -> tuple[str, str, str]:
        """From left to right."""
        return (self.pristine, self.stock, self.swathe)

    def beside_others(self, config: str) -> str:
        """The column of what a run of this kernel calls config."""
        return dict(zip(LTS.names(), self.names(), strict=True)).get(config, config)

    def within_run(self, column: str) -> str:
        """What a run of this kernel calls a column."""
        return dict(zip(self.names(), LTS.names(), strict=True)).get(column, column)


def beside(series: str) -> KernelColumns:
    """The columns of a kernel beside those of the LTS one."""
    return KernelColumns(series, f"{PRISTINE} {series}", series, f"{SWATHE} {series}")


LTS = KernelColumns("6.12", PRISTINE, STOCK, SWATHE)
# The newest one's stock column may also be of a run of the LTS kernel: --against 7.3.
OTHERS = (beside("6.18"), beside(NEWEST))
KERNELS = (LTS, *OTHERS)
# From left to right.
ALL = tuple(name for kernel in KERNELS for name in kernel.names())
TITLES = {
    **{kernel.pristine: f"pristine {kernel.series}" for kernel in KERNELS},
    **{kernel.stock: f"stock {kernel.series}" for kernel in KERNELS},
    **{kernel.swathe: f"swathe {kernel.series}" for kernel in KERNELS},
}


def title(config: str) -> str:
    """A column's head."""
    return TITLES.get(config, config)


def of_run(environment: Mapping[str, str]) -> KernelColumns:
    """The columns of the kernel that a run measured; a kernel without goals is an LTS one."""
    series = ".".join(environment.get("kernel", "").split(".")[:2])
    return next((kernel for kernel in KERNELS if kernel.series == series), LTS)
