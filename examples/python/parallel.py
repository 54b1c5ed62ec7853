"""Random play through PettingZoo's parallel interface, which draws legal actions only. usage: parallel.py [TASK]"""
import sys

import mawam

env = mawam.parallel_env(sys.argv[1] if len(sys.argv) > 1 else "3m")
observations, infos = env.reset(seed=42)
returns = dict.fromkeys(env.agents, 0.0)
while env.agents:
    actions = {agent: env.action_space(agent).sample() for agent in env.agents}
    observations, rewards, terminations, truncations, infos = env.step(actions)
    for agent, reward in rewards.items():
        returns[agent] += reward
print("returns", returns)
env.close()
