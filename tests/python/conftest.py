"""What the tests of the package share: the package from the source tree, a small dataset and a small bundle."""
import os
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))
os.environ["PYTHONPATH"] = str(SOURCE / "python")  # for programs that tests start
os.environ["MAWAM_DATA"] = str(SOURCE)  # for the behaviours

TINY = {
    "flow.dim": 16, "flow.mults": (1, 1, 1), "flow.steps": 30, "flow.batch": 6, "flow.warmup": 5, "flow.forecast": 12,
    "flow.forecast_batch": 14, "inverse.hidden": 16, "inverse.batch": 15, "inverse.steps": 30, "inverse.warmup": 5,
    "rwm.hidden": 16, "rwm.experts": 2, "rwm.slots": 2, "rwm.reward_features": 8, "rwm.steps": 30, "rwm.batch": 32,
}


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    import mawam
    folder = tmp_path_factory.mktemp("data") / "spread"
    mawam.make_dataset("spread-random", folder, transitions=600, seed=3, threads=1)
    return folder


@pytest.fixture()
def dataset(data_folder):
    import mawam
    return mawam.Dataset(data_folder)


@pytest.fixture(scope="session")
def tiny_path(data_folder, tmp_path_factory):
    """A bundle of small networks, hardly trained."""
    import mawam
    path = tmp_path_factory.mktemp("bundle") / "tiny.safetensors"
    mawam.train(mawam.Dataset(data_folder), path, settings=TINY, threads=1)
    return path


@pytest.fixture()
def bundle(tiny_path):
    import mawam
    return mawam.Bundle(tiny_path)
