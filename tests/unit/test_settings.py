# SPDX-License-Identifier: Apache-2.0
"""Are settings that a run cannot obey, and launchers that it does not start, named rather than passed over?"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from exanet.errors import InputError
from exanet.mpi import detect, python, settings
from exanet.mpi.detect import Mpi
from exanet.run.watchdog import by_call, early_end, want_of_progress

MPICH, OPEN_MPI_4, OPEN_MPI_5 = Mpi("mpich"), Mpi("openmpi", version=4), Mpi("openmpi", version=5)


@pytest.mark.parametrize("name", ["MPIR_CVAR_ASYNC_PROGRESS", "MPICH_ASYNC_PROGRESS"])
@pytest.mark.parametrize("value", ["1", "yes", "True"])
def test_a_thread_for_progress_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InputError, match=f"{name}={value}"):
        settings.replaced(MPICH, {name: value})
    assert settings.replaced(MPICH, {name: "0"}) == settings.replaced(MPICH, {name: "No"}) == []
    assert settings.replaced(OPEN_MPI_5, {name: value}) == []


def test_each_setting_that_is_replaced_is_said() -> None:
    assert settings.replaced(OPEN_MPI_4, {"OMPI_MCA_osc": "rdma"}) == ["OMPI_MCA_osc=rdma is replaced by pt2pt"]
    assert settings.replaced(OPEN_MPI_4, {"OMPI_MCA_osc": "pt2pt", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}) == []
    assert settings.replaced(OPEN_MPI_4, {"OMPI_MCA_pml": "ob1", "OMPI_MCA_osc": "rdma"}) == []
    assert settings.replaced(OPEN_MPI_5, {"OMPI_MCA_pml": "ob1"}) == ["OMPI_MCA_pml=ob1 is replaced by cm"]
    assert settings.replaced(MPICH, {"MPIR_CVAR_NOLOCAL": "0"}) == ["MPIR_CVAR_NOLOCAL=0 is replaced by 1"]
    for mpi in (MPICH, OPEN_MPI_4, OPEN_MPI_5):
        forced = settings.environment(mpi, region="r", status="s", library=settings.Path("l"), base={})
        assert settings.replaced(mpi, forced) == []


@pytest.mark.parametrize("choice", ["auto", "mpich", "openmpi", "none"])
@pytest.mark.parametrize("words", ["mpirun -n 4 ./program", "/usr/bin/mpiexec.hydra ./p", "env A=1 mpirun.openmpi ./p", "srun -N 2 ./p"])
def test_a_launcher_is_no_program(words: str, choice: str) -> None:
    with pytest.raises(InputError, match=re.escape("is a launcher, and `exanet run` starts the ranks itself")):
        detect.detect(words.split(), choice)


def test_a_program_that_cannot_be_reached_is_said_with_why(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "broken").symlink_to("nowhere")
    for name, said in (
        ("loop", "is a symbolic link to 'loop' that leads nowhere: Too many levels of symbolic links; make the link anew"),
        ("broken", "is a symbolic link to 'nowhere' that leads nowhere: No such file or directory; make the link anew"),
        ("nothing", "is missing: there is no such file"),
        ("a" * 300, "cannot be reached: File name too long"),
    ):
        with pytest.raises(InputError) as refused:
            detect.find_program(f"{tmp_path}/{name}")
        assert str(refused.value) == f"program {f'{tmp_path}/{name}'!r} {said}"


def test_a_program_that_is_cut_is_damaged(tmp_path: Path) -> None:
    whole = Path(sys.executable).resolve().read_bytes()
    program = tmp_path / "program"
    for length in (100, 3000, len(whole) // 2):
        program.write_bytes(whole[:length])
        program.chmod(0o755)
        with pytest.raises(InputError, match=r"is a damaged executable: its headers lead nowhere .*; build or copy it again"):
            detect.detect([str(program)])


def test_what_only_looks_like_one_is() -> None:
    assert detect.detect(["true", "mpirun"], "none") == Mpi("none")
    assert detect.detect(["env", "true", "mpirun"], "none") == Mpi("none")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("python ring.py 4", ("script", "ring.py")),
        ("python3.11 -u -X dev -W once ring.py", ("script", "ring.py")),
        ("python -Xdev -Wmodule -uW once --check-hash-based-pycs always ring.py", ("script", "ring.py")),
        ("python -m mpi4py ring.py", ("module", "mpi4py")),
        ("python -um mpi4py.bench ring.py", ("module", "mpi4py.bench")),
        ("python -c pass", ("", "")),
        ("python -Ecpass ring.py", ("", "")),
        ("python - ring.py", ("", "")),
        ("python", ("", "")),
    ],
)
def test_what_an_interpreter_runs(words: str, found: tuple[str, str]) -> None:
    assert python.what(words.split()) == found


@pytest.mark.parametrize("choice", ["auto", "mpich", "none"])
@pytest.mark.parametrize("before", [[], ["env", "A=1"], ["nice", "-n5"]])
def test_a_script_that_is_missing_is_refused(tmp_path: Path, before: list[str], choice: str) -> None:
    with pytest.raises(InputError, match=r"script 'missing\.py' is missing: there is no such file"):
        detect.detect([*before, sys.executable, "-u", "missing.py"], choice)
    with pytest.raises(InputError, match=r"is a directory without __main__\.py"):
        detect.detect([*before, sys.executable, str(tmp_path)], choice)
    (tmp_path / "__main__.py").touch()
    assert detect.detect([*before, sys.executable, str(tmp_path)], "none") == Mpi("none")


def test_a_deadlock_names_first_which_ranks_ended_early() -> None:
    calls = ["MPI_Barrier", "MPI_Finalize", "MPI_Barrier", "MPI_Finalize"]
    assert by_call(calls) == "ranks 1, 3 in MPI_Finalize; ranks 0, 2 in MPI_Barrier"
    text = early_end(calls, python=False)
    assert text == "; ranks 1, 3 ended first: they called MPI_Finalize while the others wait"
    assert "look for its traceback above" in early_end(calls, python=True)
    assert early_end(["MPI_Barrier"] * 2, python=True) == early_end(["MPI_Finalize"] * 2, python=True) == ""


def test_a_deadlock_at_windows_names_the_way_out_where_there_is_one() -> None:
    assert want_of_progress(["MPI_Allreduce", "MPI_Barrier"]) == want_of_progress(["MPI_Get_count", "MPI_Putter"]) == ""
    text = want_of_progress(["MPI_Allreduce", "MPI_Win_flush", "MPI_Rput"])
    assert "ranks 1, 2" in text and "OMPI_MCA_pml=ob1" in text
    assert settings.waits_for_progress(OPEN_MPI_4, {})
    assert not settings.waits_for_progress(OPEN_MPI_4, {"OMPI_MCA_pml": "ob1"})
    assert not settings.waits_for_progress(OPEN_MPI_5, {}) and not settings.waits_for_progress(MPICH, {})
