"""The report's pictures and the places of its charts' labels."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from privee.audit.report.label_placement import Box, LabelledPoint, place_labels
from privee.audit.report.pictures import DARK, HIDDEN, LIGHT, panels
from tests._support.made_audits import DEFENSES, _shown, make_audit


def pixels(address: str) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(base64.b64decode(address.removeprefix("data:image/png;base64,")))))


def test_pictures_show_what_is_known_and_what_was_rebuilt():
    audit = make_audit(subjects=1)
    info = audit.subjects[0]
    adaptive, naive = panels(audit, info, audit.cards)
    assert (adaptive.attacker, naive.attacker) == ("adaptive", "naive")
    assert [strip.defense for strip in adaptive.strips] == ["", "", "", *DEFENSES]
    truth, held, guess, none, *_ = (pixels(strip.data) for strip in adaptive.strips)
    assert truth.shape == (8, 6 * 8 + 5, 4)
    first = np.array(info.picture.truth[0]).reshape(8, 8)
    np.testing.assert_array_equal(truth[:3, :8, 0], (255 * first[:3]).round())  # rows 3 and 4 are unknown
    np.testing.assert_array_equal(truth[3:5, :8, :3], (DARK + first[3:5, :, None] * (LIGHT - DARK)).round())
    assert (held[3:5, :8, :3] == HIDDEN).all()
    assert (truth[:, 8, 3] == 0).all()  # a gap, see-through
    rebuilt_first = np.clip(np.array(_shown(info, 1e-5)), 0, 1)[0].reshape(2, 8)
    np.testing.assert_array_equal(none[3:5, :8, :3], (DARK + rebuilt_first[..., None] * (LIGHT - DARK)).round())
    np.testing.assert_array_equal(guess[:3], truth[:3])
    assert np.abs(guess[3:5].astype(int) - truth[3:5]).max() > 20


def test_colour_pictures_are_grey_where_known():
    audit = make_audit(subjects=2)
    info = audit.subjects[1]
    truth = pixels(panels(audit, info, [card for card in audit.cards if card.subject == info.name])[0].strips[0].data)
    assert (truth[:, :8, 0] == truth[:, :8, 1]).all()
    assert (truth[:, :8, 1] == truth[:, :8, 2]).all()
    expected = np.moveaxis(np.array(info.picture.truth[0]).reshape(3, 16, 16), 0, -1)[:, 8:]
    np.testing.assert_array_equal(truth[:, 8:16, :3], (255 * expected).round())


@pytest.mark.parametrize("spread", [0.0, 3.0, 40.0, 100.0])
def test_labels_never_cover_each_other_or_leave_the_frame(spread):
    """Up to forty points, from all in one place to all over the frame."""
    rng = np.random.default_rng(0)
    frame = Box(50, 50, 290, 230)
    points = [LabelledPoint(*(170 + spread * x, 140 + 0.8 * spread * y)) for x, y in rng.uniform(-1, 1, (40, 2))]
    sizes = [(14.0, 11.0)] * 40
    attempts = (
        place_labels(points, sizes, frame, marker=8.0, furthest=400.0, lines_may_cross=cross) for cross in (False, True)
    )
    boxes = next(found for found in attempts if found is not None)
    assert all(box.within(frame) for box in boxes)
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert not any(box.overlaps(Box.around(point, 8.0, 8.0)) for box in boxes for point in points)
