# SPDX-License-Identifier: Apache-2.0
"""Descriptions of processors: what an instruction takes, and where that is known from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from exanet import lightly
from exanet.errors import InputError
from exanet.machine import located
from exanet.machine.constant import Bytes, Constant, Count, Cycles, Frequency, Strict, Text
from exanet.near import nearest

CLASSES = (
    "integer",
    "multiply",
    "divide",
    "branch",
    "load",
    "store",
    "fp_add",
    "fp_multiply",
    "fp_multiply_add",
    "fp_divide",
    "fp_square_root",
    "fp_addend",
)
"""As runtime/cpu/decode.h lists them; then what a chain of multiplications and additions takes for each."""

_FOLDER = Path(__file__).parent / "processors"
_FEMTOSECONDS = 10**15


def _most(most: int) -> AfterValidator:
    def check(constant: Any) -> Any:
        if not 1 <= constant.value <= most:
            raise PydanticCustomError("exanet", "{text}", {"text": f"give a number from 1 to {most}"})
        return constant

    return AfterValidator(check)


_Latency = Annotated[Cycles, _most(1000)]


class Latencies(Strict):
    """Cycles until an instruction's result can be used."""

    integer: _Latency = Field(description="Operations on integer registers.")
    multiply: _Latency = Field(description="Multiplications of integers.")
    divide: _Latency = Field(description="Divisions of integers, which are not pipelined.")
    branch: _Latency = Field(description="Branches.")
    load: _Latency = Field(description="Loads that the first level has.")
    store: _Latency = Field(description="Stores.")
    fp_add: _Latency = Field(description="Additions and all else on floating-point and vector registers.")
    fp_multiply: _Latency = Field(description="Multiplications.")
    fp_multiply_add: _Latency = Field(description="Fused multiplications and additions.")
    fp_addend: _Latency = Field(description="The same until the next one can add to it.")
    fp_divide: _Latency = Field(description="Divisions, which are not pipelined.")
    fp_square_root: _Latency = Field(description="Square roots, which are not pipelined.")


class Cache(Strict):
    """A level of data caches."""

    size: Bytes = Field(description="Its size.")
    line: Bytes = Field(description="The size of a line.")
    ways: Annotated[Count, _most(64)] = Field(description="Lines of a set.")
    miss: Annotated[Cycles, _most(10_000)] = Field(description="Cycles that a load waits where the level does not have its line.")

    def words(self) -> str:
        sets = self.size.value // (self.line.value * self.ways.value)
        return f"{sets}:{self.ways.value}:{self.line.value}:{self.miss.value}"


class Processor(Strict):
    """An in-order processor."""

    name: Text = Field(description="Its name.")
    description: Text = Field(description="One line about it.")
    architecture: Literal["aarch64", "riscv64"] = Field(description="Its instruction set.")
    frequency: Frequency = Field(description="Frequency of its clock.")
    issue_width: Annotated[Count, _most(8)] = Field(description="Instructions that it can begin in a cycle.")
    mispredicted_branch: _Latency = Field(description="Cycles that a branch costs which does not go where it went the last time.")
    latency: Latencies = Field(description="Cycles until an instruction's result can be used.")
    caches: list[Cache] = Field(default_factory=list, max_length=2, description="Levels of data caches; without any, loads always hit.")

    def plugin(self) -> str:
        """It as options of runtime/cpu/plugin.c."""
        words = [
            f"cycle-fs={round(_FEMTOSECONDS / self.frequency.value)}",
            f"width={self.issue_width.value}",
            f"mispredicted={self.mispredicted_branch.value}",
            "latency=" + ":".join(str(getattr(self.latency, name).value) for name in CLASSES),
            *(f"cache{level}={cache.words()}" for level, cache in enumerate(self.caches, 1)),
        ]
        return ",".join(words)


def known() -> list[str]:
    """Names of the processors that come with ExaNet."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def load(name: str) -> Processor:
    """The processor of that name, or of that file. Raises InputError with each problem of the file at its line."""
    path = _FOLDER / f"{name}.yaml"
    if not path.is_file():
        path = Path(name).expanduser()
        if path.suffix not in (".yaml", ".yml") and not path.is_file():
            meant = nearest(name, known())
            raise InputError(
                f"--cpu {name}: no processor has this name; "
                + (f"did you mean '{meant}'?" if meant else f"give one of {', '.join(known())}, or a file of your own (docs/cpu.md)")
            )
    tree = located.read(path, located.printable(str(path)))
    with lightly.imports():
        Processor.model_rebuild()
    try:
        processor = Processor.model_validate(tree.plain(), strict=False)
    except ValidationError as error:
        whole = "a processor is a mapping of keys to values, as in docs/cpu.md"
        details = error.errors(include_url=False)
        found = {located.problem(tree, detail, _owner(tuple(detail["loc"])), whole) for detail in details}
        raise InputError([mark.error(text) for mark, text in sorted(found)]) from None
    for number, cache in enumerate(processor.caches):
        if cache.size.value % (cache.line.value * cache.ways.value):
            raise InputError(tree.find(("caches", number)).error("the size is no multiple of lines times ways; give one that is"))
    return processor


def _owner(path: tuple[str | int, ...]) -> Any:
    """The model whose key it is."""
    sections: dict[str | int, Any] = {"latency": Latencies, "caches": Cache}
    models = [Processor, *([sections[path[0]]] if path and path[0] in sections else [])]
    depth = len([part for part in path if isinstance(part, str)])
    return models[depth - 1] if 0 < depth <= len(models) else Constant if path else Processor
