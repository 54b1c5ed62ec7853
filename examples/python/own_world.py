"""Plans in a world that mawam knows nothing about, from recorded episodes alone.

Two boats on a line are pushed to and fro and should meet at the origin; what is at hand is data of clumsy helmsmen.
usage: own_world.py [FOLDER [STEPS]]
"""
import sys

import numpy as np

import mawam

folder = sys.argv[1] if len(sys.argv) > 1 else "own_world"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400
random = np.random.default_rng(0)
LIMIT = 30


class Boats:
    """Our own environment: each boat has a place and a speed, sees both boats, and is pushed by -1 to 1."""

    def reset(self):
        self.place, self.speed = random.uniform(-1, 1, 2), np.zeros(2)
        return self.observe()

    def observe(self):
        own = np.stack([self.place, self.speed], axis=1)
        return np.concatenate([own, own[::-1]], axis=1).astype(np.float32)  # [2 agents][4 features]

    def step(self, push):
        self.speed = 0.9 * self.speed + 0.1 * push[:, 0]
        self.place = self.place + self.speed
        return self.observe(), -float(np.abs(self.place).mean())


def clumsy(obs):
    return np.clip(-obs[:, :1] - 2 * obs[:, 1:2] + random.normal(0, 0.7, (2, 1)), -1, 1).astype(np.float32)


def play(world, decide):
    obs, rows = world.reset(), []
    for _ in range(LIMIT):
        action = decide(obs)
        after, reward = world.step(action)
        rows.append((obs, action, reward))
        obs = after
    return [np.array(column, np.float32) for column in zip(*rows)] + [obs]


world = Boats()
dataset = mawam.write_dataset(f"{folder}/data", [play(world, clumsy) for _ in range(200)], "boats", overwrite=True)
training = mawam.train(dataset, f"{folder}/boats.safetensors", overwrite=True, settings={
    "flow.dim": 16, "rwm.hidden": 64, "flow.steps": steps, "inverse.steps": steps, "rwm.steps": steps})
planner = mawam.Planner(training.bundle(), candidates=8)
returns = []
for episode in range(10):
    planner.begin(episode)
    returns.append(play(world, planner.act)[2].sum())
print(f"return of the data {dataset.returns.mean:.2f}, planned {np.mean(returns):.2f}")
