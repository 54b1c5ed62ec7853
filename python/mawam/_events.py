"""Scalars for TensorBoard, written without its libraries: records of a length, its masked checksum, an Event in
protocol buffers' wire format and the event's masked checksum. The same files as `mawam train --log tensorboard`
writes."""
import os
import struct
import time
from typing import Any


def _table() -> Any:
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        yield crc


_CRC = list(_table())


def masked_crc(data: bytes) -> int:
    """CRC-32C (Castagnoli), masked as TensorFlow stores it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes(found + bytes([value]))


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


class Events:
    """A file of scalars, open for writing."""

    def __init__(self, path: str, append: bool) -> None:
        """append: after what is there, as a training that is resumed does."""
        self._file = open(path, "ab" if append else "wb")
        self._record(_field(3, b"brain.Event:2"))

    def _record(self, rest: bytes) -> None:
        event = struct.pack("<Bd", 1 << 3 | 1, time.time()) + rest
        length = struct.pack("<Q", len(event))
        self._file.write(length + struct.pack("<I", masked_crc(length)) + event + struct.pack("<I", masked_crc(event)))
        self._file.flush()

    def add(self, tag: str, step: int, value: float) -> None:
        """One scalar."""
        scalar = _field(1, tag.encode()) + struct.pack("<Bf", 2 << 3 | 5, value)
        self._record(_varint(2 << 3) + _varint(step) + _field(5, _field(1, scalar)))

    def close(self) -> None:
        """Everything is on its way to the disk already."""
        self._file.close()


class TrainingEvents:
    """Turns the reports of a training into scalars: every line of its log once."""

    def __init__(self, output: Any, resume: bool) -> None:
        """The file lies beside the bundle; it is begun with the training, not with one that is refused."""
        stem = os.fspath(output)
        self._path = (stem[:-len(".safetensors")] if stem.endswith(".safetensors") else stem) + ".tfevents"
        self._resume, self._events, self._said = resume, None, None  # type: Any

    def begin(self) -> None:
        self._events = Events(self._path, self._resume)

    def tell(self, report: Any) -> None:
        if self._events is None or not report.means or (report.part, report.means) == self._said:
            return
        self._said = (report.part, report.means)
        for name, value in report.means.items():
            self._events.add(f"{report.part}/{name}", report.step, value)
        for name, value in (report.held or {}).items():
            self._events.add(f"{report.part}/held-out {name}", report.step, value)

    def close(self) -> None:
        if self._events is not None:
            self._events.close()
