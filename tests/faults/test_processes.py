"""A real scheduler, two workers and a client, each killed once; ``python -m faults.processes`` kills more."""

from pathlib import Path

import pytest

from faults.processes import QUICK, ROLES, Count, cluster, one_run, undisturbed
from faults.quick_job import served
from faults.slow_stages import WISH
from faults.trial import whole

pytest.importorskip("distributed", reason="needs the extra cluster")


def test_whoever_is_killed_the_same_command_ends_with_the_same_bits(tmp_path: Path) -> None:
    log, count = tmp_path / "client.log", Count()
    with cluster(True, QUICK.preload) as machines:
        right, _ = undisturbed(QUICK, machines, tmp_path, log)
        for role in ROLES:
            out = tmp_path / role
            code = one_run(QUICK, machines, out, log, role, None, count)
            if code != 0:
                assert set(served(out).items()) <= set(right.items())
                assert one_run(QUICK, machines, out, log, "", None, count) == 0
            assert served(out) == right
    assert count.kills == dict.fromkeys(ROLES, 1)
    (said,) = count.said
    assert "the Dask scheduler at tcp://127.0.0.1:" in said
    assert said.endswith("can no longer be reached; start again, what is done is kept")


def test_the_only_worker_is_killed(tmp_path: Path) -> None:
    """All that it has been sent goes with it, the plan too."""
    log, count = tmp_path / "client.log", Count()
    with cluster(True, QUICK.preload, size=1) as machines:
        assert one_run(QUICK, machines, tmp_path / "out", log, "worker", None, count) == 0
    assert count.kills == {"worker": 1}
    assert served(tmp_path / "out") == whole(WISH)
