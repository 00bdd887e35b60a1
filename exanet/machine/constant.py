# SPDX-License-Identifier: Apache-2.0
"""Reads a constant of a machine file: a value in a unit, who says so, and how it was come by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, StringConstraints, ValidationInfo, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from exanet import units
from exanet.units import Dimension, UnitError

Kind = Literal["published", "derived", "calibrated", "chosen"]
T = TypeVar("T")


def _fail(text: str) -> PydanticCustomError:
    return PydanticCustomError("exanet", "{text}", {"text": text})


def _quantity(dimension: Dimension) -> Callable[[Any, ValidationInfo], int]:
    def check(value: Any, info: ValidationInfo) -> int:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise _fail(f"expected a {dimension.name}, e.g. {dimension.example}")
        if not isinstance(value, str) and value != 0:
            raise _fail(f"{value} has no unit; a {dimension.name} needs one, e.g. {dimension.example}")
        try:
            text = value if isinstance(value, str) else "0"
            turned = _clocked(text, dimension, (info.context or {}).get("cycle_ps"))
            return units.parse(text, dimension) if turned is None else turned
        except UnitError as error:
            raise _fail(str(error)) from None

    return check


def _clocked(text: str, dimension: Dimension, cycle_ps: int | None) -> int | None:
    """A time that is given in cycles, or cycles that are given as a time; None of all else. Raises UnitError on a
    part of a cycle."""
    other = units.CYCLES if dimension is units.TIME else units.TIME if dimension is units.CYCLES else None
    try:
        given = units.parse_exact(text, other) if other is not None else 0
    except UnitError:
        return None
    if given == 0:
        return None
    if cycle_ps is None:
        whole = "a frequency whose period is a whole number of picoseconds, e.g. 500 MHz"
        raise UnitError(f"{text.strip()} cannot be turned into a {dimension.name}: router.clock must be {whole}")
    if dimension is units.TIME:
        exact = given * cycle_ps
        if exact.denominator != 1:
            raise UnitError(f"{text.strip()} is {exact} ps, which is not a whole number; choose a value that is")
        return int(exact)
    cycles, rest = divmod(given, cycle_ps)
    if rest:
        near = " or ".join(f"{n} cycles ({units.format_time(int(n * cycle_ps))})" for n in (cycles, cycles + 1))
        raise UnitError(
            f"{text.strip()} is {float(given / cycle_ps):.6g} cycles of router.clock, which is not a whole number; write {near}"
        )
    return int(cycles)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _fail("expected a whole number, zero or more, without a unit")
    return int(value)


def _shape(value: Any) -> list[int]:
    if not isinstance(value, list) or not 1 <= len(value) <= 16 or not all(type(n) is int and 1 <= n <= 1 << 22 for n in value):
        raise _fail("expected a list of 1 to 16 whole numbers of at least 1, e.g. [4, 4, 2]")
    return value


class Strict(BaseModel):
    """A mapping that refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        """Null takes a key out, also one that the file below does not have."""
        if not isinstance(data, dict):
            return data
        optional = {key for key, field in cls.model_fields.items() if not field.is_required()}
        return {key: value for key, value in data.items() if value is not None or key not in optional}


Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class OneOf:
    """Marks a text that is one of some names, which the simulator's registries list: `Annotated[str, OneOf(names)]`."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.names))


class Constant(Strict, Generic[T]):
    """A model constant: what it is, who says so, and how it was come by. A value alone is the choice of whoever
    wrote the file."""

    value: T
    source: Text
    kind: Kind

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, data: Any) -> Any:
        return data if isinstance(data, dict) else {"value": data, "source": "the user", "kind": "chosen"}


Duration = Annotated[int, BeforeValidator(_quantity(units.TIME))]
"""A time without a source, in picoseconds: of what is no constant of a machine."""

Time = Constant[Annotated[int, BeforeValidator(_quantity(units.TIME)), Field(json_schema_extra={"dimension": "TIME"})]]
Frequency = Constant[Annotated[int, BeforeValidator(_quantity(units.FREQUENCY)), Field(json_schema_extra={"dimension": "FREQUENCY"})]]
Rate = Constant[Annotated[int, BeforeValidator(_quantity(units.RATE)), Field(json_schema_extra={"dimension": "RATE"})]]
Bits = Constant[Annotated[int, BeforeValidator(_quantity(units.BITS)), Field(json_schema_extra={"dimension": "BITS"})]]
Bytes = Constant[Annotated[int, BeforeValidator(_quantity(units.BYTES)), Field(json_schema_extra={"dimension": "BYTES"})]]
Cycles = Constant[Annotated[int, BeforeValidator(_quantity(units.CYCLES)), Field(json_schema_extra={"dimension": "CYCLES"})]]
Words = Constant[Annotated[int, BeforeValidator(_quantity(units.WORDS)), Field(json_schema_extra={"dimension": "WORDS"})]]
Blocks = Constant[Annotated[int, BeforeValidator(_quantity(units.BLOCKS)), Field(json_schema_extra={"dimension": "BLOCKS"})]]
Percent = Constant[Annotated[int, BeforeValidator(_quantity(units.PERCENT)), Field(json_schema_extra={"dimension": "PERCENT"})]]
Height = Constant[Annotated[int, BeforeValidator(_quantity(units.HEIGHT)), Field(json_schema_extra={"dimension": "HEIGHT"})]]
Watts = Constant[Annotated[int, BeforeValidator(_quantity(units.POWER)), Field(json_schema_extra={"dimension": "POWER"})]]
Joules = Constant[Annotated[int, BeforeValidator(_quantity(units.ENERGY)), Field(json_schema_extra={"dimension": "ENERGY"})]]
JoulesPerBit = Constant[
    Annotated[int, BeforeValidator(_quantity(units.ENERGY_PER_BIT)), Field(json_schema_extra={"dimension": "ENERGY_PER_BIT"})]
]
Count = Constant[Annotated[int, BeforeValidator(_count)]]
Shape = Constant[Annotated[list[int], BeforeValidator(_shape)]]


DIMENSIONS = {name: value for name, value in vars(units).items() if isinstance(value, Dimension)}


def dimension_of(constant: type[BaseModel]) -> Dimension | None:
    """The dimension of a constant's value; None for a count or a shape."""
    extra = constant.model_fields["value"].json_schema_extra
    return DIMENSIONS[str(extra["dimension"])] if isinstance(extra, dict) else None
