# SPDX-License-Identifier: Apache-2.0
"""How many bytes the datatypes of a DUMPI trace have: those that its files say, else MPI's own on a 64-bit machine and
what calls make of them."""

from __future__ import annotations

from math import prod

from exanet.trace.dumpi.file import Call, DumpiFile

_BYTES = (0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20)
"""By DUMPI's numbers: 2 is MPI_CHAR, 5 MPI_BYTE, 9 MPI_INT, 14 MPI_DOUBLE, 20 and 21 bounds, 26 MPI_2INT."""


class Types:
    """Of one rank."""

    def __init__(self, file: DumpiFile) -> None:
        self._file = file
        self._bytes = dict(enumerate(_BYTES))
        self._said = {number: size for number, size in enumerate(file.sizes) if size > 0}

    def of(self, call: Call, number: int) -> int:
        """Raises InputError where nobody says."""
        size = self._said.get(number, self._bytes.get(number, -1))
        if size < 0:
            raise self._file.wrong(
                call.at, f"MPI_{call.name} with datatype {number}, of which the trace has no size; record the program anew"
            )
        return size

    def make(self, call: Call) -> None:
        """A call that makes a datatype of others; any other one does nothing."""
        fields = call.fields
        if "new" not in fields or not call.name.startswith("Type_"):
            return
        if call.name == "Type_match_size":
            self._bytes[fields["new"]] = fields["size"]
            return
        if "olds" in fields:
            size = sum(count * self.of(call, old) for count, old in zip(fields["blocks"], fields["olds"], strict=False))
        else:
            size = self.of(call, fields["old"]) * _elements(call)
        self._bytes[fields["new"]] = size


def _elements(call: Call) -> int:
    fields = call.fields
    if call.name in ("Type_dup", "Type_create_resized"):
        return 1
    if call.name == "Type_create_subarray":
        return int(prod(fields["subsizes"]))
    if call.name == "Type_create_darray":
        return int(prod(fields["sizes"])) // max(int(fields["size"]), 1)
    if "blocks" in fields:
        return sum(map(int, fields["blocks"]))
    return int(fields["count"]) * int(fields.get("block", 1))
