#!/usr/bin/env python3
"""large.py FROM TO: a dataset of the same world that is too large to be copied into memory and takes no disk.

Its values are zeros, which are holes in the files; their FNV-1a checksum is a power.
"""
import json
import math
import os
import struct
import sys

EPISODES, LENGTH = 60000, 25  # 324 MB of spread's observations
START, PRIME, TYPES = 0xCBF29CE484222325, 0x100000001B3, {"f32": ("<f4", 4), "i64": ("<i8", 8), "u8": ("|u1", 1)}


def checksum(data, zeros=0):
    """Of the bytes, and of so many zeros after them."""
    value = START
    for byte in data:
        value = (value ^ byte) * PRIME % 2 ** 64
    return f"fnv1a64:{value * pow(PRIME, zeros, 2 ** 64) % 2 ** 64:016x}"


def main(source, target):
    """Every column with as many rows; lengths are the only ones with values."""
    with open(os.path.join(source, "dataset.json"), encoding="utf-8") as file:
        about = json.load(file)
    os.mkdir(target)
    for name, column in about["columns"].items():
        rows = EPISODES * LENGTH if column["shape"][0] == about["steps"] else EPISODES
        shape, (kind, size) = [rows] + column["shape"][1:], TYPES[column["type"]]
        data = struct.pack("<q", LENGTH) * rows if name == "path_lengths" else b""
        zeros = math.prod(shape) * size - len(data)
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
        with open(os.path.join(target, name + ".npy"), "wb") as file:
            file.write(b"\x93NUMPY\1\0" + struct.pack("<H", 118) + head.ljust(117).encode() + b"\n" + data)
            file.truncate(file.tell() + zeros)
        about["columns"][name] = {"type": column["type"], "shape": shape, "checksum": checksum(data, zeros)}
    about.update(steps=EPISODES * LENGTH, episodes=EPISODES)
    with open(os.path.join(target, "dataset.json"), "w", encoding="utf-8") as file:
        json.dump(about, file)


main(*sys.argv[1:])
