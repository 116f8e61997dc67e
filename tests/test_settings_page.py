"""docs/settings.md says what the settings say of themselves."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from wideflow.config import PRESETS, Config
from wideflow.config.page import settings_page
from wideflow.config.setting import all_settings, flat

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"


def test_the_page_is_current(tmp_path: Path) -> None:
    written = tmp_path / "settings.md"
    subprocess.run([sys.executable, "-m", "wideflow.config.page", str(written)], check=True)
    assert PAGE.read_text(encoding="utf-8") == written.read_text(encoding="utf-8"), (
        "run python -m wideflow.config.page docs/settings.md"
    )


def test_every_setting_has_a_row_with_its_default_and_meaning() -> None:
    tables = settings_page().split("## Presets")[0]
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.*) \|$", tables, re.MULTILINE))
    known = {key: entry for key, entry, _ in all_settings(Config)}
    assert rows.keys() == known.keys()
    for key, row in rows.items():
        assert known[key].metadata["meaning"] in row
        assert len(row.split(" | ")) == 5
    assert rows["match.optical.final.iterations"].startswith("[1, 1] | 1 to 100 |")
    assert "| px of each level | `R` |" in rows["match.descriptor_radius"]


def test_every_preset_changes_something_everywhere_it_says() -> None:
    config = Config()
    for name, preset in PRESETS.items():
        for key, value in flat(preset):
            current: object = config
            for part in key.split("."):
                current = getattr(current, part)
            assert current != (tuple(value) if isinstance(value, list) else value), f"{name}: {key}"
