"""Makes wheels of this package with Python's standard library alone: neither pip nor `make wheel` needs a network.

pip calls the functions of PEP 517 and 660 and gets the pure package, which looks for a library on the machine. `make
wheel` runs this file and gets a wheel with the library, the program, behaviours and some bundles of an installation:

    python3 backend.py PREFIX FOLDER PLATFORM BUNDLE...
"""
import base64
import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "mawam"
SCRIPT = """#!python
import importlib.util
import os
import sys

folder = importlib.util.find_spec("mawam").submodule_search_locations[0]
os.execv(os.path.join(folder, "bin", "mawam"), sys.argv)
"""


def version():
    return re.search(r'__version__ = "(.*)"', (PACKAGE / "_version.py").read_text()).group(1)


def metadata():
    return (f"Metadata-Version: 2.1\nName: mawam\nVersion: {version()}\n"
            "Summary: Test-time planning with frozen multi-agent policies\nRequires-Python: >=3.9\n"
            "Requires-Dist: numpy>=1.20\nProvides-Extra: gym\n"
            'Requires-Dist: gymnasium; extra == "gym"\nRequires-Dist: pettingzoo; extra == "gym"\n')


class Wheel:
    """A wheel in the making. Files get one fixed date, so that equal contents give equal bytes."""

    def __init__(self, folder, tag):
        self.stem, self.tag, self.record = f"mawam-{version()}", tag, []
        self.path = Path(folder) / f"{self.stem}-{tag}.whl"
        self.zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED)

    def add(self, name, content, executable=False):
        info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(info, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}\n")

    def tree(self, source, target, pattern):
        for file in sorted(source.glob(pattern)):
            self.add(f"{target}/{file.relative_to(source).as_posix()}", file.read_bytes())

    def finish(self):
        info, pure = f"{self.stem}.dist-info", self.tag.endswith("any")
        self.add(f"{info}/METADATA", metadata().encode())
        self.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: mawam\nRoot-Is-Purelib: {str(pure).lower()}\n"
                                  f"Tag: {self.tag}\n".encode())
        self.zip.writestr(f"{info}/RECORD", "".join(self.record) + f"{info}/RECORD,,\n")
        self.zip.close()
        return self.path.name


def package_into(wheel):
    wheel.tree(PACKAGE, "mawam", "*.py")
    wheel.tree(PACKAGE, "mawam", "py.typed")


# ---- what pip calls ----


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    wheel = Wheel(wheel_directory, "py3-none-any")
    package_into(wheel)
    return wheel.finish()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    wheel = Wheel(wheel_directory, "py3-none-any")
    wheel.add("mawam.pth", f"{HERE}\n".encode())
    return wheel.finish()


def build_sdist(sdist_directory, config_settings=None):
    stem = f"mawam-{version()}"
    with tarfile.open(Path(sdist_directory) / f"{stem}.tar.gz", "w:gz") as tar:
        for name in ["pyproject.toml", "backend.py"] + [f"mawam/{file.name}" for file in sorted(PACKAGE.glob("*.py"))]:
            tar.add(HERE / name, f"{stem}/{name}")
    return f"{stem}.tar.gz"


# ---- what make wheel calls ----


def linked(file):
    """Libraries beside the system's own that a file needs, with their places."""
    listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"(\S+) => (/\S+)", listed)
    return {name: place for name, place in found
            if not re.match(r"(libc|libm|libdl|libpthread|librt|libmawam)[.]so", name)}


def build_whole(prefix, folder, platform, bundles):
    """A wheel of an installation that was built with MAWAM_LOAD; libraries that it needs are put beside it."""
    prefix, share = Path(prefix), Path(prefix) / "share" / "mawam"
    wheel = Wheel(folder, f"py3-none-{platform}")
    package_into(wheel)
    library = prefix / "lib" / "libmawam.so"
    for file in (library, library.with_name("libmawam-study.so")):
        wheel.add(f"mawam/lib/{file.name}", file.read_bytes(), executable=True)
    for name, place in linked(library).items():
        wheel.add(f"mawam/lib/{name}", Path(place).read_bytes(), executable=True)
        licence = Path("/usr/share/doc") / (name.replace(".so.", "")) / "copyright"
        wheel.add(f"mawam/lib/{name}.copyright", licence.read_bytes())
    wheel.add("mawam/bin/mawam", (prefix / "bin" / "mawam").read_bytes(), executable=True)
    wheel.tree(share / "behaviors", "mawam/share/mawam/behaviors", "*.safetensors")
    wheel.tree(share / "results", "mawam/share/mawam/results", "**/*.json")
    for name in bundles:
        wheel.tree(share / "bundles", "mawam/share/mawam/bundles", f"{name}.safetensors")
    wheel.add(f"{wheel.stem}.data/scripts/mawam", SCRIPT.encode(), executable=True)
    wheel.add(f"{wheel.stem}.dist-info/LICENSE", (HERE.parent / "LICENSE").read_bytes())
    wheel.finish()
    return wheel.path


if __name__ == "__main__":
    print(build_whole(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
