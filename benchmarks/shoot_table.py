"""The table of shoots in Markdown, and what it comes to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Found = dict[str, Any]
_WRONG = 0.25  # share of trusted pixels off by more than 20 % that must not be accepted
_ROTATION = 0.3  # degrees that a good shoot should reach
_HEAD = (
    "shoot", "kind", "angle", "verdict", "rotation", "direction", "focal", "baseline", "trusted",
    "off > 20 %", "> 5 %", "> 1 %", "sure within 1 %",
)  # fmt: skip


def table(results: Sequence[Found]) -> str:
    """A row for each shoot; errors in degrees and percent."""
    rows = [_HEAD, ("---",) * len(_HEAD), *(_row(found) for found in results)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _row(found: Found) -> tuple[str, ...]:
    focal = ", ".join(f"{each:+.1f}" for each in found.get("focal", ()))
    shares = (_percent(found, name) for name in ("trusted", "off20", "off5", "off1", "within1"))
    return (
        found["name"],
        found["kind"],
        f"{found['angle']:g}°",
        _verdict(found),
        _number(found, "rotation", "{:.2f}°"),
        _number(found, "direction", "{:.2f}°"),
        focal and f"{focal} %",
        _percent(found, "spread"),
        *shares,
    )


def _verdict(found: Found) -> str:
    return {0: "accepted", 2: "refused", 3: "not trusted"}.get(found["exit"], f"failed ({found['exit']})")


def _number(found: Found, name: str, form: str) -> str:
    return form.format(found[name]) if name in found else ""


def _percent(found: Found, name: str) -> str:
    return f"{100 * found[name]:.1f} %" if name in found else ""


def summary(results: Sequence[Found]) -> str:
    """What is promised of all shoots together, counted: an item for each half and one for both."""
    halves = {"tuned": "tuned half", "untouched": "untouched half"}
    lines = [_counts(name, [f for f in results if f["half"] == half]) for half, name in halves.items()]
    return "\n".join(f"- {line}" for line in [*lines, _counts("all", results)] if line)


def reliability(results: Sequence[Found]) -> str:
    """How often depth is within 1 % where so much confidence is claimed, over all shoots that were accepted.

    Every shoot counts the same, whatever its size.
    """
    lines = []
    for half in ("tuned", "untouched"):
        accepted = [f for f in results if f["half"] == half and f["exit"] == 0 and "claimed" in f]
        if accepted:
            shares = [[n / sum(f["claimed"]) for n in f["claimed"]] for f in accepted]
            rights = [[n / sum(f["claimed"]) for n in f["right"]] for f in accepted]
            there, right = ([sum(column) for column in zip(*rows, strict=True)] for rows in (shares, rights))
            measured = [f"{100 * r / n:.0f}" if n else "" for n, r in zip(there, right, strict=True)]
            pixels = [f"{100 * n / len(accepted):.0f}" for n in there]
            lines += [
                f"| {half}, within 1 % | {' | '.join(measured)} |",
                f"| pixels | {' | '.join(pixels)} |",
            ]
    head = [f"{10 * k} to {10 * k + 10}" for k in range(10)]
    return "\n".join([f"| claimed, % | {' | '.join(head)} |", f"|{' --- |' * 11}", *lines]) if lines else ""


def put_into(page: Path, results: Sequence[Found]) -> None:
    """Write summary and table between ``<!-- shoots -->`` and ``<!-- end -->`` of a page."""
    text = page.read_text(encoding="utf-8")
    filled = (
        f"<!-- shoots -->\n\n{summary(results)}\n\n{table(results)}\n{reliability(results)}\n\n<!-- end -->"
    )
    page.write_text(
        re.sub("<!-- shoots -->.*?<!-- end -->", lambda _: filled, text, flags=re.DOTALL), "utf-8"
    )


def _counts(name: str, results: Sequence[Found]) -> str:
    if not results:
        return ""
    accepted = [found for found in results if found["exit"] == 0]
    good = [found for found in results if found["kind"] == "good"]
    wrong = [found["name"] for found in accepted if is_wrong(found)]
    unsure = [f["name"] for f in accepted if f.get("within1", 1.0) < 0.9]
    parts = [
        f"{name}: {len(results)} shoots, {len(accepted)} accepted",
        f"accepted but wrong: {len(wrong)}{_listed(wrong)}",
        f"accepted with less than 90 % of the sure pixels within 1 %: {len(unsure)}{_listed(unsure)}",
    ]
    if good:
        refused = [found["name"] for found in good if found["exit"] != 0]
        parts.append(f"good ones refused: {_of(good, lambda f: f['exit'] != 0)}{_listed(refused)}")
        parts.append(
            f"good ones within {_ROTATION}°: "
            + _of(good, lambda f: f["exit"] == 0 and f.get("rotation", 180.0) <= _ROTATION)
        )
    return "; ".join(parts)


def is_wrong(found: Found) -> bool:
    """Whether more than a quarter of the trusted depth is off by more than 20 %.

    Without depth (only the cameras were computed) the baseline's direction decides: ten degrees bend any
    depth as much.
    """
    if "trusted" in found:
        return bool(found.get("off20", 0.0) > _WRONG)
    return max(found.get("rotation", 0.0), found.get("direction", 0.0) / 5) > 2.0


def _of(results: Sequence[Found], test: Callable[[Found], bool]) -> str:
    count = sum(test(found) for found in results)
    return f"{count} of {len(results)} ({100 * count / len(results):.0f} %)"


def _listed(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
