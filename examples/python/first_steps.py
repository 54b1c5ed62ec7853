"""A first look, in cells as in a notebook: a world, a batch of worlds, data, a planned episode with its candidates.

usage: first_steps.py [BUNDLE [FOLDER]]
"""
import sys

import mawam

path = sys.argv[1] if len(sys.argv) > 1 else "spread-medium"
folder = sys.argv[2] if len(sys.argv) > 2 else "first_steps"

# %% a world, stepped by a scripted policy
bundle = mawam.Bundle(path)
env = mawam.Env(bundle.task)
print(f"{env.info.task}: {env.info.summary}; {env.info.agents} agents see {[f.name for f in env.features][:4]} ...")
obs, infos = env.reset(seed=1)
obs, rewards, terminated, truncated, infos = env.step(env.script("random", seed=1))
print("rewards", rewards)

# %% many of them, without copies
many = mawam.VectorEnv(bundle.task, 64)
obs, infos = many.reset(seed=0)
actions = many.script("random")
for _ in range(100):
    many.script("random", out=actions)
    obs, rewards, terminated, truncated, infos = many.step(actions)
print("64 worlds,", obs.shape, obs.dtype)

# %% data: arrays over the files themselves
made = mawam.make_dataset(f"{bundle.task}-random", f"{folder}/data", transitions=500, overwrite=True)
dataset = mawam.Dataset(f"{folder}/data")
print(dataset, dataset.obs.shape, "mean return", dataset.returns.mean)

# %% a planned episode
planner = mawam.Planner(bundle, candidates=4, imagine=True)
obs, infos = env.reset(seed=7)
planner.begin(episode=7)
total, over = 0.0, False
while not over:
    actions = planner.act(obs, infos.get("action_mask"))
    obs, rewards, terminated, truncated, infos = env.step(actions)
    planner.reward(rewards.mean())
    total, over = total + rewards.mean(), terminated or truncated
print(f"planned return {total:.2f} after {infos['step']} steps")

# %% what it had in mind in the last decision
candidates = planner.candidates()
print("scores", candidates.scores.round(2), "chosen", candidates.chosen, "imagined", candidates.imagined.shape)

# %% the same as a page
mawam.replay_page(bundle, f"{folder}/episode.html", seed=7, settings={"candidates": 4}, overwrite=True)
