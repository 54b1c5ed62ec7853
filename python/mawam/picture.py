"""Pictures of worlds as arrays of pixels, from the shapes that an environment draws, with numpy alone."""
from typing import Dict, List, Tuple

import numpy as np

from mawam.env import Shape

# Okabe and Ito's colours, which the colour-blind can tell apart.
_COLOURS: Dict[str, Tuple[int, int, int]] = {
    "agent": (0, 114, 178), "enemy": (213, 94, 0), "prey": (0, 158, 115), "landmark": (90, 90, 90),
    "obstacle": (120, 120, 120), "food": (230, 159, 0), "forest": (170, 210, 170), "wall": (225, 225, 225),
    "attack": (204, 121, 167),
}
_OTHER = (86, 180, 233)


def _bounds(shapes: List[Shape]) -> Tuple[np.ndarray, np.ndarray]:
    """Of all shapes, a square with a margin."""
    points = [np.asarray(end[:2]) + sign * s.radius for s in shapes for sign in (-1, 1)
              for end in ((s.a,) if s.kind == "circle" else (s.a, s.b))]
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    half = 0.55 * max(float(np.max(high - low)), 1e-6)
    middle = (low + high) / 2
    return middle - half, middle + half


def _covers(shape: Shape, x: np.ndarray, y: np.ndarray, pixel: float) -> np.ndarray:
    """Which pixel centres lie in a shape."""
    a, b = np.asarray(shape.a[:2]), np.asarray(shape.b[:2])
    if shape.kind == "rect":
        low, high = np.minimum(a, b), np.maximum(a, b)
        return (x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1])
    if shape.kind == "circle":
        return (x - a[0]) ** 2 + (y - a[1]) ** 2 <= max(shape.radius, pixel) ** 2
    along = b - a
    length = max(float(along @ along), 1e-12)
    t = np.clip(((x - a[0]) * along[0] + (y - a[1]) * along[1]) / length, 0, 1)
    reach = max(shape.radius, pixel) if shape.kind == "capsule" else pixel
    return (x - a[0] - t * along[0]) ** 2 + (y - a[1] - t * along[1]) ** 2 <= reach ** 2


def picture(shapes: List[Shape], size: int = 256) -> np.ndarray:
    """The shapes as [size][size][3] of bytes, later ones over earlier ones, with y upwards."""
    pixels = np.full((size, size, 3), 255, np.uint8)
    if not shapes:
        return pixels
    low, high = _bounds(shapes)
    pixel = float(high[0] - low[0]) / size
    centres = low[0] + (np.arange(size) + 0.5) * pixel, low[1] + (np.arange(size) + 0.5) * pixel
    x, y = np.meshgrid(*centres)
    for shape in shapes:
        pixels[_covers(shape, x, y, pixel)] = _COLOURS.get(shape.role, _OTHER)
    return pixels[::-1].copy()
