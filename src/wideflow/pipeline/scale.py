"""What the user knows of lengths: one of the distance between the cameras, two points, a printed tag."""

from __future__ import annotations

from dataclasses import dataclass

from wideflow.errors import InputError


@dataclass(frozen=True)
class KnownScale:
    """One known length.

    Attributes
    ----------
    distance : float, optional
        Between the cameras in ``frame``.
    points : two (x, y), optional
        Pixels of A in ``frame`` that are ``length`` apart.
    length : float, optional
        Of ``points``.
    tag : float, optional
        Side of a tag of `wideflow tag` that the videos show.
    frame : int, optional
        Frame of A for which distance or points hold; the first with known cameras unless given.
    """

    distance: float | None = None
    points: tuple[tuple[float, float], tuple[float, float]] | None = None
    length: float | None = None
    tag: float | None = None
    frame: int | None = None

    def __post_init__(self) -> None:
        ways = (self.distance, self.points, self.tag)
        if sum(way is not None for way in ways) > 1:
            raise InputError("give only one of --scale, --scale-points and --tag-size: each tells the scale")
        if (self.points is None) != (self.length is None):
            raise InputError("--scale-points and --scale-length belong together; give both")
        if self.frame is not None and self.distance is None and self.points is None:
            raise InputError(
                "--scale-frame only says when a length holds; give --scale or --scale-points too"
            )
        for option, value in (
            ("--scale", self.distance),
            ("--scale-length", self.length),
            ("--tag-size", self.tag),
        ):
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{option} {value} is no length; give a number above 0")

    @property
    def given(self) -> bool:
        """Whether anything is known."""
        return any(way is not None for way in (self.distance, self.points, self.tag))
