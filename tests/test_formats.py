"""Results of every format that there was are read, and a run adds what they lack."""

import json
import shutil
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from faults.quick_job import Wish, run_quickly, served
from faults.trial import scratch, suffer, whole
from stored_results import STORED
from wideflow.cli import main
from wideflow.errors import DamagedError, FileError, InputError
from wideflow.pipeline.tasks import do
from wideflow.report import write_report
from wideflow.storage import schema, store
from wideflow.storage.place import Place
from wideflow.storage.result import Result
from wideflow.storage.sealed import seal, unseal

WISH = Wish()


def unpacked(form: int, folder: Path) -> Path:
    """A result of two moments of 24x16 pixels, as the version of that format has written it."""
    with zipfile.ZipFile(STORED / f"format{form}.zip") as file:
        file.extractall(folder)
    return folder


@pytest.mark.parametrize("form", sorted(int(path.stem[6:]) for path in STORED.glob("format*.zip")))
def test_results_of_every_format_are_read(form: int, tmp_path: Path) -> None:
    out = unpacked(form, tmp_path / "out")
    group = json.loads((out / "result.zarr/zarr.json").read_text())
    assert group["attributes"]["version"] == form
    found = Result(out)
    assert (len(found), found.size_a, found.size_b) == (2, (24, 16), (18, 16))
    with np.load(STORED / "right.npz") as right:
        for key, values in right.items():
            name, t = key.split()
            assert found.array(name, int(t)).tobytes() == values.tobytes(), key
        assert len(right) == 2 * 6 + 3
    assert main(["check-result", str(out), "-q"]) == 0
    assert found.verdict.headline
    assert Path(write_report(out)).stat().st_size > 10_000
    assert main(["export", str(out), "--to", "ply", "-o", str(tmp_path / "ply"), "-q"]) == 0
    assert len(list((tmp_path / "ply").glob("*.ply"))) == 2


def test_the_present_format_is_among_them() -> None:
    assert (STORED / f"format{schema.FORMAT}.zip").exists(), "run tests/stored_results.py"


@contextmanager
def with_weather() -> Iterator[None]:
    """A version whose results have one array more."""
    stored_arrays = do.stored_arrays

    def more(value: object, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        arrays = stored_arrays(value, names)
        if "weather" in names:
            arrays["weather"] = np.full((6, 8), 7, np.uint8)
        return arrays

    described = schema.ArraySpec(
        ("y", "x"), "1", "for a test", dtype="uint8", fill=0, since=schema.FORMAT + 1
    )
    with ExitStack() as stack:
        stack.enter_context(patch.dict(schema.ARRAYS, {"weather": described}))
        names = (*schema.SLOTS["moment"], "weather")
        stack.enter_context(patch.dict(schema.SLOTS, {"moment": names}))
        stack.enter_context(patch.dict(schema.SLOT_OF, {"weather": "moment"}))
        for module in (schema, store):
            stack.enter_context(patch.object(module, "FORMAT", schema.FORMAT + 1))
        stack.enter_context(patch.object(do, "stored_arrays", more))
        yield


def test_a_version_with_another_array_reads_and_completes_an_older_result() -> None:
    with scratch() as folder:
        run_quickly(WISH, folder / "out")
        before = served(folder / "out")
        with with_weather():
            found = Result(folder / "out")
            assert found.depth(1).tobytes() == before["depth_steady 1"]
            with pytest.raises(InputError, match="was written before results had weather; start the run"):
                found.array("weather", 0)
            assert main(["check-result", str(folder / "out"), "-q"]) == 0  # whole, as what it is
            with (
                patch("faults.quick_job._pictures", side_effect=AssertionError("read again")),
                pytest.warns(
                    UserWarning, match="moments 0 to 2 are computed again: this version stores weather"
                ),
            ):
                run_quickly(WISH, folder / "out")
            assert (Result(folder / "out").array("weather", 2) == 7).all()
            assert main(["check-result", str(folder / "out"), "-q"]) == 0
            assert {name: each for name, each in served(folder / "out").items() if name in before} == before


def test_an_upgrade_of_the_format_may_be_killed() -> None:
    with scratch() as folder, with_weather():
        right = served(run_quickly(WISH, folder / "right").place.where)
    for at in range(10, 200, 23):
        with scratch() as folder:
            run_quickly(WISH, folder / "out")
            with with_weather():
                suffer(WISH, folder / "out", "kill", at)
                found = served(folder / "out")
                assert all(right[name] == content for name, content in found.items())
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    run_quickly(WISH, folder / "out")
                assert served(folder / "out") == right


def test_an_older_version_leaves_a_newer_result_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with scratch() as folder:
        out = folder / "out"
        with with_weather():
            run_quickly(WISH, out)
        before = {
            path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.suffix != ".txt"
        }
        with pytest.raises(FileError, match="was written by a newer version of Wideflow"):
            Result(out)
        with pytest.raises(FileError, match="was written by a newer version of Wideflow"):
            run_quickly(WISH, out)
        assert main(["check-result", str(out)]) == 2
        assert "newer version" in capsys.readouterr().err
        assert all(path.read_bytes() == content for path, content in before.items())


def test_a_result_whose_checksums_are_gone_is_not_taken_for_one_that_had_none() -> None:
    with scratch() as folder:
        run_quickly(WISH, folder / "out")
        shutil.rmtree(folder / "out/checksums")
        with pytest.raises(DamagedError, match=r"the checksums of .* are gone"):
            Result(folder / "out")
        assert main(["check-result", str(folder / "out"), "-q"]) == 3
        run_quickly(WISH, folder / "out")
        assert served(folder / "out") == whole(WISH)


def test_an_array_that_a_result_does_not_have() -> None:
    with scratch() as folder:
        found = run_quickly(WISH, folder / "out")
        with pytest.raises(InputError, match="has no covariance; start the run again with --keep covariance"):
            found.array("covariance", 0)
        with pytest.raises(InputError, match="results have no array nonsense; there are stereo_flow"):
            found.array("nonsense", 0)


def test_half_a_store_is_named_by_its_format(tmp_path: Path) -> None:
    """What `Store.create` writes first: nothing is served from then on."""
    out = unpacked(2, tmp_path / "out")
    about = out / "checksums/store.json"
    assert unseal(about.read_bytes()) is not None
    about.write_bytes(seal({"format": 0}))
    with pytest.raises(FileError, match=r"holds no whole result\.zarr; start the run again"):
        Result(out)
    assert Place(out).exists("checksums/store.json")
