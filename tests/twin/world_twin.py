#!/usr/bin/env python3
"""A second writing of the world model's default variant, for `mawam verify net`.

Standardised tokens and targets, joined by the mean over agents, learned norm features in front of dynamics and
reward, a shared expert beside the routed ones, everything in double precision with PyTorch's automatic gradients; the engine has to reproduce the recorded outputs, losses,
gradients and three Adam steps in single precision. Writes one file in the layout of the other recordings:

    python3 tests/twin/world_twin.py tests/data/net/twin/world.safetensors

Needs python3-torch. Shapes: b batch, a agents, o observation, d action.
"""
import json
import os
import sys

import torch

AGENTS, OBS, ACT, HIDDEN, EXPERTS, SLOTS, REWARD_EXPERTS, TOP = 3, 7, 3, 20, 3, 2, 4, 2
REWARD_FEATURES, DYNAMICS_FEATURES, SHARED, BATCH, HORIZON, RATE, CLIP = 9, 5, 15, 6, 4, 3e-4, 1.0


def perceptron(weights, name, x):
    """Linear - SiLU - Linear - SiLU - Linear, named as in a torch Sequential."""
    for layer in (0, 2, 4):
        x = x @ weights[f"{name}.{layer}.weight"].T + weights[f"{name}.{layer}.bias"]
        if layer < 4:
            x = x * torch.sigmoid(x)
    return x


def with_norm_features(y, matrix, features):
    """Appends log(|W_k y|^2 + 1e-3); the columns hold all first rows of the W_k, then all second ones."""
    p = y @ matrix
    return torch.cat([y, torch.log(p[..., :features] ** 2 + p[..., features:] ** 2 + 1e-3)], -1)


def with_mean(y):
    """Appends the mean over agents, the same behind every agent's own values."""
    return torch.cat([y, y.mean(1, keepdim=True).expand_as(y)], -1)


class World:
    def __init__(self, generator):
        def normal(*shape, scale=1.0):
            return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

        def mlp(name, sizes):
            for layer, (m, n) in enumerate(zip(sizes[:-1], sizes[1:])):
                self.weights[f"{name}.{2 * layer}.weight"] = normal(n, m, scale=1.2 / m**0.5)
                self.weights[f"{name}.{2 * layer}.bias"] = normal(n, scale=0.2)

        raw, reward_raw = 2 * (OBS + ACT), 2 * (2 * OBS + ACT)
        token, reward_token = raw + DYNAMICS_FEATURES, reward_raw + REWARD_FEATURES
        self.weights = {
            "dynamics.norm_features": normal(raw, 2 * DYNAMICS_FEATURES, scale=raw**-0.5),
            "dynamics.dispatch": normal(token, EXPERTS * SLOTS, scale=0.3),
            "dynamics.combine": normal(token, EXPERTS * SLOTS, scale=0.3),
        }
        for e in range(EXPERTS):
            mlp(f"dynamics.experts.{e}", (token, HIDDEN, HIDDEN, OBS))
        mlp("dynamics.shared", (token, SHARED, SHARED, OBS))
        self.weights["reward.norm_features"] = normal(reward_raw, 2 * REWARD_FEATURES, scale=reward_raw**-0.5)
        self.weights["reward.router.weight"] = normal(REWARD_EXPERTS, reward_token, scale=0.3)
        self.weights["reward.router.bias"] = normal(REWARD_EXPERTS, scale=0.3)
        for e in range(REWARD_EXPERTS):
            mlp(f"reward.experts.{e}", (reward_token, HIDDEN, HIDDEN, 1))
        self.scale = {  # constants of the data: never trained
            "scale.obs_mean": normal(OBS), "scale.obs_scale": 0.5 + normal(OBS).abs(),
            "scale.act_mean": normal(ACT, scale=0.3), "scale.act_scale": 0.5 + normal(ACT).abs(),
            "scale.delta_mean": normal(OBS, scale=0.1), "scale.delta_scale": 0.2 + normal(OBS, scale=0.2).abs(),
            "scale.reward_mean": normal(1), "scale.reward_scale": 2.0 + normal(1).abs(),
        }
        # what the file holds is what the twin computes with
        for table in (self.weights, self.scale):
            for name in table:
                table[name] = table[name].float().double()
        for weight in self.weights.values():
            weight.requires_grad_(True)

    def standard(self, x, what):
        return (x - self.scale[f"scale.{what}_mean"]) / self.scale[f"scale.{what}_scale"]

    def change(self, obs, act):
        """The standardised change of the observation: shared expert and soft mixture of experts over slots."""
        w = self.weights
        z = with_mean(torch.cat([self.standard(obs, "obs"), self.standard(act, "act")], -1))
        z = with_norm_features(z, w["dynamics.norm_features"], DYNAMICS_FEATURES)  # b a token
        dispatch = torch.softmax(z @ w["dynamics.dispatch"], 1)  # over agents
        combine = torch.softmax(z @ w["dynamics.combine"], 2)  # over slots
        mixed = perceptron(w, "dynamics.shared", z)  # b a o
        for slot in range(EXPERTS * SLOTS):
            slot_in = (dispatch[:, :, slot, None] * z).sum(1)  # b token
            slot_out = perceptron(w, f"dynamics.experts.{slot // SLOTS}", slot_in)  # b o
            mixed = mixed + combine[:, :, slot, None] * slot_out[:, None, :]
        return mixed  # b a o

    def next_obs(self, obs, change):
        return obs + self.scale["scale.delta_mean"] + self.scale["scale.delta_scale"] * change

    def reward(self, obs, act, following):
        """Standardised rewards, b a, and the balance of the router; every expert is computed."""
        w = self.weights
        y = torch.cat([self.standard(obs, "obs"), self.standard(act, "act"), self.standard(following, "obs")], -1)
        y = with_mean(y)
        y = with_norm_features(y, w["reward.norm_features"], REWARD_FEATURES)
        route = torch.softmax(y @ w["reward.router.weight"].T + w["reward.router.bias"], -1)  # b a expert
        chosen = torch.zeros_like(route)
        chosen.scatter_(-1, route.argsort(-1, descending=True)[..., :TOP], 1.0)
        kept = route * chosen
        kept = kept / (kept.sum(-1, keepdim=True) + 1e-8)
        out = torch.cat([perceptron(w, f"reward.experts.{e}", y) for e in range(REWARD_EXPERTS)], -1)
        share, mean = chosen.mean((0, 1)), route.mean((0, 1))
        return (kept * out).sum(-1), REWARD_EXPERTS * (share * mean).sum()

    def raw_reward(self, standardised):
        return self.scale["scale.reward_mean"] + self.scale["scale.reward_scale"] * standardised

    def losses(self, obs, act, following, reward):
        """Total, dynamics, reward, balance; errors in units of the standardised targets."""
        change = self.change(obs, act)
        target = self.standard(following - obs, "delta")
        dynamics = ((change - target) ** 2).mean()
        predicted, balance = self.reward(obs, act, self.next_obs(obs, change).detach())
        rewards = ((predicted - self.standard(reward, "reward")) ** 2).mean()
        return dynamics + rewards + 0.01 * balance, dynamics, rewards, balance

    def score(self, obs, acts):
        """b from b a o and b h a d: the sum of raw rewards over steps and agents."""
        total = 0
        for step in range(acts.shape[1]):
            following = self.next_obs(obs, self.change(obs, acts[:, step]))
            total = total + self.raw_reward(self.reward(obs, acts[:, step], following)[0]).sum(1)
            obs = following
        return total


def adam(world, batch, steps):
    """Adam by its definition, with the global norm of the gradient clipped."""
    first = {k: torch.zeros_like(w) for k, w in world.weights.items()}
    second = {k: torch.zeros_like(w) for k, w in world.weights.items()}
    for step in range(1, steps + 1):
        grads = dict(zip(world.weights, torch.autograd.grad(world.losses(*batch)[0], list(world.weights.values()))))
        norm = sum((g**2).sum() for g in grads.values()) ** 0.5
        factor = min(1.0, CLIP / (norm.item() + 1e-6))
        with torch.no_grad():
            for name, weight in world.weights.items():
                g = grads[name] * factor
                first[name] = 0.9 * first[name] + 0.1 * g
                second[name] = 0.999 * second[name] + 0.001 * g * g
                size = (second[name] / (1 - 0.999**step)) ** 0.5 + 1e-8
                weight -= RATE * first[name] / (1 - 0.9**step) / size


def write_safetensors(path, tensors, metadata):
    header, blobs, at = {"__metadata__": {k: str(v) for k, v in metadata.items()}}, [], 0
    for name, tensor in tensors.items():
        raw = tensor.detach().float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(raw)]}
        blobs.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(blobs))


def main(path):
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(11)
    world = World(generator)

    def data(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).float().double()

    obs, act = data(BATCH, AGENTS, OBS), data(BATCH, AGENTS, ACT)
    following = (obs + 0.5 * data(BATCH, AGENTS, OBS)).float().double()
    reward = (3 * data(BATCH, AGENTS)).float().double()
    acts = data(BATCH, HORIZON, AGENTS, ACT)
    batch = (obs, act, following, reward)
    with torch.no_grad():
        predicted = world.next_obs(obs, world.change(obs, act))
        rewards = world.raw_reward(world.reward(obs, act, predicted)[0])
        scores = world.score(obs, acts)
    losses = world.losses(*batch)
    grads = torch.autograd.grad(losses[0], list(world.weights.values()))
    tensors = {"in.obs": obs, "in.act": act, "in.next_obs": following, "in.reward": reward, "in.rollout_acts": acts,
               "out.next_obs": predicted, "out.reward": rewards, "out.rollout_score": scores,
               "out.loss_total_dyn_rew_bal": torch.stack(losses)}
    tensors.update({"weight." + k: v.clone() for k, v in (world.weights | world.scale).items()})
    tensors.update({"grad." + k: g for k, g in zip(world.weights, grads)})
    adam(world, batch, 3)
    tensors.update({"adam3." + k: v for k, v in (world.weights | world.scale).items()})
    write_safetensors(path, tensors, {
        "agents": AGENTS, "obs": OBS, "act": ACT, "hidden": HIDDEN, "experts_dyn": EXPERTS, "slots": SLOTS,
        "experts_rew": REWARD_EXPERTS, "top_k": TOP, "H": HORIZON, "lr": RATE, "clip": CLIP,
        "reward_features": REWARD_FEATURES, "dynamics_features": DYNAMICS_FEATURES, "shared": SHARED, "joint": 1, "torch": torch.__version__})
    print("losses", [round(x.item(), 6) for x in losses])


if __name__ == "__main__":
    main(sys.argv[1])
