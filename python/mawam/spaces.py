"""Spaces of observations and actions: gymnasium's where it is installed, small equals otherwise."""
from typing import TYPE_CHECKING, Any, Dict as Mapping, List, Optional, Sequence, Tuple

import numpy as np

if TYPE_CHECKING:
    from mawam.env import EnvInfo, Feature

try:
    from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space
except ImportError:

    class Space:  # type: ignore[no-redef]
        """A set of values that can be asked and drawn from."""

        def __init__(self, shape: Tuple[int, ...], dtype: Any) -> None:
            self.shape, self.dtype = shape, np.dtype(dtype)
            self.np_random = np.random.default_rng()

        def seed(self, seed: Optional[int] = None) -> None:
            """Starts the drawing anew."""
            self.np_random = np.random.default_rng(seed)

        def sample(self, mask: Optional[np.ndarray] = None) -> Any:
            """Draws a value."""
            raise NotImplementedError

        def contains(self, value: Any) -> bool:
            """Is it one of the values?"""
            raise NotImplementedError

        def __contains__(self, value: Any) -> bool:
            return self.contains(value)

        def __eq__(self, other: Any) -> bool:
            return type(self) is type(other) and repr(self) == repr(other)

        __hash__ = None  # type: ignore[assignment]

    class Box(Space):  # type: ignore[no-redef]
        """Real values between bounds."""

        def __init__(self, low: Any, high: Any, shape: Optional[Sequence[int]] = None, dtype: Any = np.float32) -> None:
            found = tuple(shape) if shape is not None else np.shape(low)
            super().__init__(found, dtype)
            self.low = np.broadcast_to(np.asarray(low, self.dtype), found).copy()
            self.high = np.broadcast_to(np.asarray(high, self.dtype), found).copy()

        def sample(self, mask: Optional[np.ndarray] = None) -> np.ndarray:
            """Uniform where both bounds are finite; normal, beyond a bound exponential, elsewhere."""
            if self.dtype.kind in "iu":
                return self.np_random.integers(self.low, self.high, endpoint=True, dtype=self.dtype)
            below, above = np.isfinite(self.low), np.isfinite(self.high)
            far = self.np_random.exponential(size=self.shape)
            low, high = np.where(below, self.low, 0), np.where(above, self.high, 0)
            value = np.where(below & above, low + self.np_random.random(self.shape) * (high - low),
                             np.where(below, low + far, np.where(above, high - far,
                                                                 self.np_random.standard_normal(self.shape))))
            return value.astype(self.dtype)

        def contains(self, value: Any) -> bool:
            """Shape, type and bounds fit."""
            array = np.asarray(value)
            return bool(array.shape == self.shape and np.can_cast(array.dtype, self.dtype)
                        and np.all(array >= self.low) and np.all(array <= self.high))

        def __eq__(self, other: Any) -> bool:
            return (super().__eq__(other) and np.array_equal(self.low, other.low)
                    and np.array_equal(self.high, other.high))

        def __repr__(self) -> str:
            return f"Box({self.low.min()}, {self.high.max()}, {self.shape}, {self.dtype})"

    class Dict(Space):  # type: ignore[no-redef]
        """Dictionaries with a value of its own space under every name."""

        def __init__(self, spaces: Mapping[str, Space]) -> None:
            self.spaces = dict(spaces)
            super().__init__((), object)

        def __getitem__(self, name: str) -> Space:
            return self.spaces[name]

        def seed(self, seed: Optional[int] = None) -> None:
            """Starts the drawing anew, in every space in another way."""
            for index, space in enumerate(self.spaces.values()):
                space.seed(None if seed is None else seed + index)

        def sample(self, mask: Optional[Mapping[str, np.ndarray]] = None) -> Mapping[str, Any]:
            """Draws a value of every space."""
            return {name: space.sample(None if mask is None else mask[name]) for name, space in self.spaces.items()}

        def contains(self, value: Any) -> bool:
            """The same names, and values of their spaces."""
            return (isinstance(value, dict) and value.keys() == self.spaces.keys()
                    and all(value[name] in space for name, space in self.spaces.items()))

        def __repr__(self) -> str:
            return f"Dict({', '.join(f'{name!r}: {space!r}' for name, space in self.spaces.items())})"

    class Discrete(Space):  # type: ignore[no-redef]
        """Whole numbers 0 to n - 1."""

        def __init__(self, n: int) -> None:
            super().__init__((), np.int64)
            self.n = int(n)

        def sample(self, mask: Optional[np.ndarray] = None) -> np.int64:
            """Uniform among those whose mask is not 0."""
            choices = np.arange(self.n) if mask is None else np.flatnonzero(mask)
            return np.int64(self.np_random.choice(choices) if len(choices) else 0)

        def contains(self, value: Any) -> bool:
            """A whole number in range."""
            array = np.asarray(value)
            return bool(array.shape == () and array.dtype.kind in "iu" and 0 <= int(array) < self.n)

        def __repr__(self) -> str:
            return f"Discrete({self.n})"

    class MultiDiscrete(Space):  # type: ignore[no-redef]
        """Arrays of whole numbers, each below its own bound."""

        def __init__(self, nvec: Any, dtype: Any = np.int64) -> None:
            self.nvec = np.asarray(nvec, dtype)
            super().__init__(self.nvec.shape, dtype)

        def sample(self, mask: Optional[np.ndarray] = None) -> np.ndarray:
            """Uniform among those whose masks, one for every value, are not 0."""
            if mask is not None:
                flat = np.asarray(mask).reshape(self.nvec.size, -1)
                drawn = [self.np_random.choice(np.flatnonzero(row)) if np.any(row) else 0 for row in flat]
                return np.array(drawn, self.dtype).reshape(self.shape)
            return (self.np_random.random(self.shape) * self.nvec).astype(self.dtype)

        def contains(self, value: Any) -> bool:
            """Shape fits and all are in range."""
            array = np.asarray(value)
            return bool(array.shape == self.shape and array.dtype.kind in "iu"
                        and np.all(array >= 0) and np.all(array < self.nvec))

        def __repr__(self) -> str:
            return f"MultiDiscrete({self.nvec.tolist()})"


class LegalDiscrete(Discrete):
    """Actions of one agent. Without a mask it draws one that is legal now: who samples blindly plays on."""

    legal: Optional[np.ndarray] = None  # int8 [n], kept by the environment; None: all are

    def sample(self, mask: Optional[np.ndarray] = None, *others: Any, **named: Any) -> np.int64:
        """Uniform among those whose mask is not 0."""
        if mask is None and not others and not named:
            mask = self.legal
        return super().sample(mask, *others, **named)


def space_of_observations(features: "List[Feature]", agents: Optional[int] = None) -> Space:
    """Of one agent, or of some in rows. Features' ranges are those of play; sums of floats may touch their edges."""
    low = np.array([feature.low for feature in features], np.float32)
    high = np.array([feature.high for feature in features], np.float32)
    if agents is not None:
        low, high = np.tile(low, (agents, 1)), np.tile(high, (agents, 1))
    return Box(low, high, dtype=np.float32)


def space_of_actions(info: "EnvInfo", agents: Optional[int] = None) -> Space:
    """Of one agent, or of some in rows."""
    rows = () if agents is None else (agents,)
    if not info.discrete:
        return Box(-1.0, 1.0, shape=rows + (info.act_size,), dtype=np.float32)
    if agents is None:
        return LegalDiscrete(info.act_size)
    return MultiDiscrete(np.full(rows, info.act_size), dtype=np.int32)


def space_with_mask(observations: Space, actions: int) -> Space:
    """Of observations in the form that masked learners know: {"observation", "action_mask"}."""
    return Dict({"observation": observations, "action_mask": Box(0, 1, (actions,), np.int8)})


def batched_space(space: Space, count: int) -> Space:
    """The same for `count` environments."""
    if isinstance(space, Box):
        rows = (count,) + (1,) * len(space.shape)
        return Box(np.tile(space.low, rows), np.tile(space.high, rows), dtype=space.dtype)
    return MultiDiscrete(np.tile(space.nvec, (count, 1)), dtype=space.dtype)
