"""Writes the tiny foreign files that the importers are tested on: python3 make.py (NumPy and h5py of Debian).

Values are formulas of (episode, step, agent, feature), which tests/dataset/test_import.c repeats.
"""
import os
import numpy as np
import h5py

N, O, D, LIMIT = 3, 4, 2, 5
ACTIONS = 6


def obs(e, t, i, width=O):
    return np.array([100 * e + 10 * t + i + f / 8 for f in range(width)])


def act(e, t, i):
    return np.array([(e - t) / 8, (t - i) / 16])


def reward(e, t, i):
    return e + t / 4 - i


def discrete(e, t, i):
    return (e + 2 * t + i) % ACTIONS


def legal(e, t, i):
    return np.array([a % 2 == 0 or a == discrete(e, t, i) for a in range(ACTIONS)])


def save(folder, name, array):
    os.makedirs(folder, exist_ok=True)
    np.save(os.path.join(folder, name), array)


def omar():
    """Two seeds (0 and 10). Lengths: seed 0 has episodes of 5 (limit), 3 (done) and 5, seed 10 one of 5 and two
    steps left over. Double precision, rewards once as a vector and once as a column."""
    for seed, lengths, rest in ((0, [5, 3, 5], 0), (10, [5], 2)):
        folder = f"omar/seed_{seed}_data"
        first = 0 if seed == 0 else 3
        rows = [(first + k, t, length) for k, length in enumerate(lengths) for t in range(length)]
        rows += [(first + len(lengths), t, 99) for t in range(rest)]
        for i in range(N):
            width = O if i else O - 1  # the first agent sees one feature less
            save(folder, f"obs_{i}.npy", np.array([obs(e, t, i, width) for e, t, _ in rows]))
            save(folder, f"next_obs_{i}.npy", np.array([obs(e, t + 1, i, width) for e, t, _ in rows]))
            save(folder, f"acs_{i}.npy", np.array([act(e, t, i) for e, t, _ in rows]))
            rews = np.array([reward(e, t, i) for e, t, _ in rows])
            save(folder, f"rews_{i}.npy", rews if seed == 0 else rews[:, None])
            save(folder, f"dones_{i}.npy", np.array([float(t + 1 == length) for e, t, length in rows]))


def madiff():
    """Real actions in double precision, rewards as [steps][n][1]; and a battle with integer actions, legality in
    single precision and discounts."""
    lengths = [2, 5, 3]
    rows = [(e, t) for e, length in enumerate(lengths) for t in range(length)]
    save("madiff/real", "obs.npy", np.array([[obs(e, t, i) for i in range(N)] for e, t in rows]))
    save("madiff/real", "actions.npy", np.array([[act(e, t, i) for i in range(N)] for e, t in rows]))
    save("madiff/real", "rewards.npy", np.array([[[reward(e, t, i)] for i in range(N)] for e, t in rows]))
    save("madiff/real", "path_lengths.npy", np.array(lengths))
    folder = "madiff/battle"
    save(folder, "obs.npy", np.array([[obs(e, t, i) for i in range(N)] for e, t in rows], np.float32))
    save(folder, "actions.npy", np.array([[discrete(e, t, i) for i in range(N)] for e, t in rows], np.int32))
    save(folder, "legals.npy", np.array([[legal(e, t, i) for i in range(N)] for e, t in rows], np.float32))
    save(folder, "rewards.npy", np.array([[reward(e, t, i) for i in range(N)] for e, t in rows], np.float32))
    ends = {(0, 1): 0.0}  # the first episode is over, the others were cut
    save(folder, "discounts.npy", np.array([[ends.get((e, t), 1.0)] * N for e, t in rows], np.float32))
    save(folder, "path_lengths.npy", np.array(lengths))


def episode(file, e, length, is_discrete, last=True):
    group = file.create_group(f"episode_{e}")
    rows = length + last
    for i in range(N):
        group[f"observations/agent_{i}"] = np.array([obs(e, t, i) for t in range(rows)])
        if is_discrete:
            group[f"actions/agent_{i}"] = np.array([discrete(e, t, i) for t in range(length)])
            group[f"infos/legal_actions/agent_{i}"] = np.array([legal(e, t, i) for t in range(length)])
        else:
            group[f"actions/agent_{i}"] = np.array([act(e, t, i) for t in range(length)], np.float32)
    group["rewards"] = np.array([[reward(e, t, i) for i in range(N)] for t in range(length)])
    group["terminations"] = np.array([t + 1 == length and e == 0 for t in range(length)])
    group["truncations"] = np.array([t + 1 == length and e != 0 for t in range(length)])


def hdf5():
    os.makedirs("hdf5/minari/data", exist_ok=True)
    with h5py.File("hdf5/minari/data/main_data.hdf5", "w") as file:
        for e in range(11):  # episode_10 sorts before episode_2 by text
            episode(file, e, 1 + e % 4, False)
    with h5py.File("hdf5/battle.h5", "w") as file:
        for e in range(2):
            episode(file, e, 3, True, last=False)
    with h5py.File("hdf5/arrays.h5", "w") as file:  # one array for all agents, a reward of the team
        group = file.create_group("episode_0")
        group["observations"] = np.array([[obs(0, t, i) for i in range(N)] for t in range(4)], np.float32)
        group["actions"] = np.array([[act(0, t, i) for i in range(N)] for t in range(3)])
        group["rewards"] = np.array([reward(0, t, 0) for t in range(3)])
    with h5py.File("hdf5/broken.h5", "w") as file:  # observations of the wrong number
        episode(file, 0, 3, False)
        del file["episode_0/observations/agent_0"]
        file["episode_0/observations/agent_0"] = np.zeros((7, O))
    with h5py.File("hdf5/empty.h5", "w") as file:
        file.create_group("other")


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    omar()
    madiff()
    hdf5()
