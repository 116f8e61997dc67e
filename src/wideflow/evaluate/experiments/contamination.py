"""The paper's artificial contamination: one camera's colours are changed, and the flow should not be."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideflow.config import Config
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.datasets.handheld import handheld_samples
from wideflow.evaluate.datasets.sample import Picture, Sample
from wideflow.evaluate.panels import Pixels, as_bytes, error_colours, stack
from wideflow.evaluate.run_stages import run_stages
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import write_bytes, write_image
from wideflow.files.disk import AnyPath
from wideflow.progress import Progress, silent

ALLOWED = 1.25  # times the clean share of wrong pixels
_SEED = 20160  # of the noise


@dataclass(frozen=True)
class Contamination:
    """A change of colours in 0..1: gain, then gamma, then gains of red, green and blue, then noise."""

    gain: float = 1.0
    gamma: float = 1.0
    balance: tuple[float, float, float] = (1.0, 1.0, 1.0)
    noise: float = 0.0

    def __call__(self, picture: Picture, seed: int) -> Picture:
        """The picture as an 8-bit file would hold it."""
        changed = np.clip(picture * self.gain, 0, 1) ** self.gamma * np.array(self.balance)
        if self.noise:
            changed = changed + np.random.default_rng([_SEED, seed]).normal(0, self.noise, picture.shape)
        return (np.rint(np.clip(changed, 0, 1) * 255) / 255).astype(np.float32)


CONTAMINATIONS = {
    "clean": Contamination(),
    "gain 0.7": Contamination(gain=0.7),
    "gain 0.4": Contamination(gain=0.4),
    "gain 1.3": Contamination(gain=1.3),
    "gamma 0.6": Contamination(gamma=0.6),
    "gamma 2": Contamination(gamma=2.0),
    "balance mild": Contamination(balance=(1.15, 1.0, 0.85)),
    "balance strong": Contamination(balance=(1.3, 1.0, 0.6)),
    "noise 0.02": Contamination(noise=0.02),
    "noise 0.05": Contamination(noise=0.05),
    "all mild": Contamination(0.85, 1.2, (1.1, 1.0, 0.9), 0.01),
    "all strong": Contamination(0.7, 1.5, (1.2, 1.0, 0.75), 0.03),
}


def evaluate_contamination(
    root: AnyPath, out: AnyPath, config: Config, stage: str = "all", progress: Progress = silent
) -> list[Row]:
    """Contaminate camera B of every handheld scene in every way and run the method.

    Writes the tables, with ``ratio``, the share of wrong visible pixels over the clean one; ``figure.svg``;
    and a picture per scene: B clean and contaminated, and the errors.
    """
    last = "refine" if stage == "all" else stage
    sources = handheld_samples(root)
    folder = open_folder(out)
    rows: list[Row] = []
    for done, source in enumerate(sources):
        clean = source.load()
        shown: list[list[Pixels]] = [[], []]
        reference = 0.0
        for number, (name, change) in enumerate(CONTAMINATIONS.items()):
            total = len(sources) * len(CONTAMINATIONS)
            progress(done * len(CONTAMINATIONS) + number, total, f"{source.name}: {name}")
            sample = clean if name == "clean" else contaminated(clean, change)
            result = run_stages(sample, config, last)[0]
            row: Row = {"scene": source.name, "camera B": name, **score_sample(sample, result)}
            bad = float(row["stereo_bad3"])
            reference = bad if name == "clean" else reference
            rows.append(row | {"ratio": bad / reference if reference else float("nan")})
            if name in ("clean", "gamma 2", "noise 0.05", "all strong") and result.stereo is not None:
                shown[0].append(as_bytes(sample.pictures[1]))
                shown[1].append(error_colours(result.stereo, sample.stereo))  # type: ignore[arg-type]
        write_image(folder / f"{source.name.replace(' ', '_')}.png", stack(shown))
    write_tables(folder, "contamination", rows)
    write_bytes(folder / "figure.svg", _figure(rows).encode())
    return rows


def contaminated(sample: Sample, change: Contamination) -> Sample:
    """The sample with both pictures of camera B changed."""
    a, b, a_next, b_next = sample.pictures
    return replace(sample, pictures=(a, change(b, 0), a_next, change(b_next, 1)))


def _figure(rows: list[Row]) -> str:
    charts = []
    for scene in dict.fromkeys(row["scene"] for row in rows):
        group = [row for row in rows if row["scene"] == scene]
        names = [str(row["camera B"]) for row in group]
        values = [float(row["stereo_bad3"]) for row in group]
        title = f"Camera B contaminated ({scene}); dashed: a quarter more than clean"
        charts.append(
            Chart(
                title, "", "wrong by > 3 px, %", names, {"": values}, bars=True, marks=[ALLOWED * values[0]]
            )
        )
    return draw(charts, columns=1, width=1000)
