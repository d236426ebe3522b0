"""Reconstructed images as small PNG strips: known pixels grey, unknown ones tinted, or in colour where there is any."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from privee.audit.results import Audit, Best, Card, Estimate, Finding, Picture, SubjectInfo

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

DARK, LIGHT = np.array([8.0, 44.0, 92.0]), np.array([188.0, 226.0, 255.0])
"""Ends of the scale of unknown pixels; known ones run from black to white."""
HIDDEN = np.array([242.0, 184.0, 75.0])
LUMINANCE = np.array([0.299, 0.587, 0.114])


class Strip(NamedTuple):
    """One row of images: what it shows, and where it came from."""

    data: str
    label: str
    defense: str
    attack: str
    error: Estimate | None


class PicturePanel(NamedTuple):
    """All strips for one kind of attacker."""

    attacker: str
    strips: tuple[Strip, ...]
    records: int
    questions: int = 0


def panels(audit: Audit, subject: SubjectInfo, cards: Sequence[Card]) -> list[PicturePanel]:
    """Truth, what the attacker holds, the best guess, then every defense; one panel per kind of attacker."""
    picture = subject.picture
    if picture is None or not picture.truth or not cards:
        return []
    found = [finding for finding in audit.findings if finding.subject == subject.name and finding.shown]
    first = [
        Strip(_strip(picture, _unknown(picture)), "The true records", "", "", None),
        Strip(_strip(picture, None), "What the attacker holds", "", "", None),
        *_reconstruction(picture, found, "", "guess", cards[0].guess),
    ]
    made = []
    for attacker in ("adaptive", "naive"):
        bests = [(card.defense, card.adaptive if attacker == "adaptive" else card.naive) for card in cards]
        rows = [strip for defense, best in bests for strip in _reconstruction(picture, found, defense, attacker, best)]
        if rows:
            made.append(PicturePanel(attacker, (*first, *rows), len(picture.truth)))
    rows = [strip for card in cards for strip in _asked(picture, found, card)]
    if rows:
        most = max(card.most_asked.questions for card in cards if card.most_asked is not None)
        made.append(PicturePanel("asks again", (*first, *rows), len(picture.truth), most))
    return made


def _asked(picture: Picture, found: Iterable[Finding], card: Card) -> list[Strip]:
    """The strip of whoever asked most often with chosen columns."""
    again = card.most_asked
    mine = [one for one in found if again and (one.defense, one.questions) == (card.defense, again.questions)]
    if not mine:
        return []
    best = min(mine, key=lambda finding: finding.feature_mse or 0.0)
    return [
        Strip(
            _strip(picture, np.array(best.shown)), "", card.defense, best.attack, Estimate(mean=best.feature_mse or 0.0)
        )
    ]


def _reconstruction(
    picture: Picture, found: Iterable[Finding], defense: str, attacker: str, best: Best | None
) -> list[Strip]:
    """The strip of the best attack, if its images were kept (lowest seed)."""
    if best is None:
        return []
    wanted = (defense, attacker, best.attack)
    mine = [finding for finding in found if (finding.defense, finding.attacker, finding.attack) == wanted]
    if not mine:
        return []
    shown = np.array(min(mine, key=lambda finding: finding.seed).shown)
    label = "The best guess, without the release" if attacker == "guess" else ""
    return [Strip(_strip(picture, shown), label, defense, best.attack, best.error)]


def _unknown(picture: Picture) -> Array:
    return np.array(picture.truth)[:, list(picture.unknown)]


def _strip(picture: Picture, unknown: Array | None) -> str:
    """Images side by side with see-through gaps, as a data address; None hides the unknown pixels."""
    truth = np.array(picture.truth, dtype=np.float64)
    low, high = min(0.0, float(truth.min())), max(1.0, float(truth.max()))
    images = truth.copy()
    if unknown is not None:
        count = min(len(images), len(unknown))
        images = images[:count]
        images[:, list(picture.unknown)] = unknown[:count]
    mask = np.zeros(truth.shape[1], dtype=bool)
    mask[list(picture.unknown)] = True
    touched = np.asarray(mask.reshape(picture.shape).any(axis=0), dtype=bool)
    scaled = np.clip((images - low) / (high - low), 0.0, 1.0).reshape(-1, *picture.shape)
    return _png([_coloured(image, touched, hide=unknown is None) for image in scaled])


def _coloured(image: Array, unknown: NDArray[np.bool_], *, hide: bool) -> Bytes:
    """One (channels, height, width) image in [0, 1] as (height, width, 3) bytes."""
    in_colour = image.shape[0] == 3
    colours = np.moveaxis(image, 0, -1)
    grey = colours @ LUMINANCE if in_colour else colours.mean(axis=-1)
    known = np.repeat(255.0 * grey[..., None], 3, axis=-1)
    rebuilt = 255.0 * colours if in_colour else DARK + grey[..., None] * (LIGHT - DARK)
    return np.where(unknown[..., None], HIDDEN if hide else rebuilt, known).round().astype(np.uint8)


def _png(images: Sequence[Bytes]) -> str:
    height, width = images[0].shape[:2]
    gap = max(1, width // 8)
    strip = np.zeros((height, len(images) * (width + gap) - gap, 4), dtype=np.uint8)
    for k, image in enumerate(images):
        place = slice(k * (width + gap), k * (width + gap) + width)
        strip[:, place, :3], strip[:, place, 3] = image, 255
    buffer = io.BytesIO()
    Image.fromarray(strip).save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
