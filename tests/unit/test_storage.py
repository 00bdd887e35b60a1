# SPDX-License-Identifier: Apache-2.0
"""Is a folder on a storage that cannot be refused before a run, and is a storage that cannot be refused in its file?"""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet import machine, storage
from exanet.errors import InputError
from exanet.run import options as asked
from exanet.run import program

DEVICE = "read_latency: 71 us, write_latency: 20 us, read_rate: 3 GB/s, write_rate: 1150 MB/s, queue_depth: 8"
STORED = f"""extends: exanest
name: stored
description: The prototype with storages
storage:
  nvme: {{kind: local, {DEVICE}}}
  central: {{kind: servers, servers: [1], {DEVICE}}}
  near: {{kind: cache, behind: central, prefetch: 1 MiB, {DEVICE}}}
"""


def described(folder: Path, text: str = STORED) -> machine.Machine:
    (folder / "machine.yaml").write_text(text, encoding="utf-8")
    return machine.load(str(folder / "machine.yaml"))


def test_folders_go_to_the_ranks_the_inner_one_first(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a/b")
    stored = described(tmp_path)
    mounts = storage.mounts([f"{tmp_path}/a=central", f"{tmp_path}/link=nvme"], stored)
    assert mounts == [(f"{tmp_path}/a", "central"), (f"{tmp_path}/a/b", "nvme")]
    assert storage.environment(mounts, stored) == {"EXANET_STORAGE": f"1 {tmp_path}/a/b\n0 {tmp_path}/a"}
    central, nvme = storage.resolved(mounts, stored)["storage"]
    assert (central["name"], central["servers"], nvme["name"], nvme["write_latency_ps"]) == ("central", [1], "nvme", 20_000_000)
    assert nvme["write_rate_bit_per_s"] == 9_200_000_000
    near = storage.mounts([f"{tmp_path}=near"], stored)
    assert storage.environment(near, stored) == {"EXANET_STORAGE": f"0+ {tmp_path}"}
    assert [each["name"] for each in storage.resolved(near, stored)["storage"]] == ["near", "central"]
    assert storage.resolved([], stored) == storage.environment([], stored) == {}
    assert "storage" not in stored.resolve(), "without the option nothing changes"


def test_what_is_no_folder_or_no_storage_is_refused(tmp_path: Path) -> None:
    def refused(*texts: str, name: machine.Machine | None = None) -> str:
        with pytest.raises(InputError) as error:
            storage.mounts(texts, name or described(tmp_path))
        return str(error.value)

    unknown = "the machine stored has no storage 'nvm'; did you mean 'nvme'?"
    assert refused(f"{tmp_path}=nvm") == f"--storage {tmp_path}=nvm: {unknown}"
    assert "the machine exanest has no storage; add a section storage" in refused(f"{tmp_path}=nvme", name=machine.load("exanest"))
    assert f"there is no folder {tmp_path}/no; make it" in refused(f"{tmp_path}/no=nvme")
    assert "--storage nvme: give FOLDER=NAME" in refused("nvme")
    assert "the folder is named twice" in refused(f"{tmp_path}=nvme", f"{tmp_path}/.=central")
    assert "name a folder below /" in refused("/=nvme")


@pytest.mark.parametrize(
    ("options", "other"),
    [({"record": Path("trace")}, "--record"), ({"timeline": True}, "--timeline"), ({"fabric": "gateware"}, "--fabric gateware")],
)
def test_what_does_not_go_together_is_refused_before_the_run(tmp_path: Path, options: dict[str, object], other: str) -> None:
    described(tmp_path)
    given = asked.Options(str(tmp_path / "machine.yaml"), 1, ("true",), storage=(f"{tmp_path}=nvme",), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"--storage and {other} do not go together yet"):
        program.run(given)


@pytest.mark.parametrize(
    ("old", "new", "where", "said"),
    [
        ("servers: [1]", "servers: [1000]", "6:", "node 1000 is none of the machine's 128"),
        ("servers: [1]", "servers: [1, 1]", "6:", "a node is named twice"),
        ("kind: local", "kind: servers", "5:", "say on which nodes the servers are"),
        ("kind: servers", "kind: local", "6:", "a local storage has no servers"),
        ("queue_depth: 8", "queue_depth: 0", "5:", "at least one request at a time"),
        ("behind: central", "behind: nvme", "7:", "name a storage of the kind servers"),
        ("kind: local", "kind: local, prefetch: 1 MiB", "5:", "only a cache has it"),
        ("kind: local", "kind: tape", "5:", "'kind' must be one of"),
    ],
)
def test_storages_that_contradict_themselves_are_refused_at_their_place(tmp_path: Path, old: str, new: str, where: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        described(tmp_path, STORED.replace(old, new, 1))
    assert f"machine.yaml:{where}" in str(error.value) and said in str(error.value)
