"""The networks in PyTorch, for measuring side by side: the paper's world model, mawam's own, the proposer.

Prints one JSON object with median milliseconds. Started by compare.py and decide.py, which set threads and BLAS kernels.
"""
import argparse
import json
import math
import time

import torch
import torch.nn.functional as F
from torch import nn


def perceptron(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


class World(nn.Module):
    def __init__(self, o, d, hidden=256, experts=8, slots=4, reward_experts=4):
        super().__init__()
        z, y = o + d, 2 * o + d
        self.slots = slots
        self.norm_in, self.norm_out, self.norm_reward = nn.LayerNorm(z), nn.LayerNorm(o), nn.LayerNorm(y)
        self.dispatch = nn.Parameter(0.02 * torch.randn(z, experts * slots))
        self.combine = nn.Parameter(0.02 * torch.randn(z, experts * slots))
        self.experts = nn.ModuleList(perceptron(z, hidden, hidden, o) for _ in range(experts))
        self.router = nn.Linear(y, reward_experts)
        self.reward_experts = nn.ModuleList(perceptron(y, hidden, hidden, 1) for _ in range(reward_experts))

    def dynamics(self, o, a):
        z = self.norm_in(torch.cat([o, a], -1))
        slots = torch.softmax(z @ self.dispatch, 1).transpose(1, 2) @ z
        out = torch.cat([e(s) for e, s in zip(self.experts, slots.split(self.slots, 1))], 1)
        return o + self.norm_out(torch.softmax(z @ self.combine, -1) @ out)

    def reward(self, o, a, n):
        y = self.norm_reward(torch.cat([o, a, n], -1))
        q = torch.softmax(self.router(y), -1)
        top, index = q.topk(2, -1)
        out = torch.cat([e(y) for e in self.reward_experts], -1)
        r = (top / (top.sum(-1, keepdim=True) + 1e-8) * out.gather(-1, index)).sum(-1)
        share = F.one_hot(index, q.shape[-1]).float().sum(-2).mean((0, 1))
        return r, q.shape[-1] * (share * q.mean((0, 1))).sum()

    @torch.no_grad()
    def score(self, o, actions):
        total = 0
        for a in actions.unbind(1):
            n = self.dynamics(o, a)
            total = total + self.reward(o, a, n)[0].sum(-1)
            o = n
        return total

    def loss(self, o, a, n, r):
        predicted = self.dynamics(o, a)
        rewards, balance = self.reward(o, a, predicted.detach())
        return F.mse_loss(predicted, n) + F.mse_loss(rewards, r) + 0.01 * balance


class Experts(nn.Module):
    """Several perceptrons of one shape as batched products: [experts][rows][in] to [experts][rows][out]."""

    def __init__(self, count, *sizes):
        super().__init__()
        shapes = list(zip(sizes, sizes[1:]))
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(count, a, b) / a**0.5) for a, b in shapes)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(count, 1, b)) for _, b in shapes)

    def forward(self, x):
        for i, (w, b) in enumerate(zip(self.weights, self.biases)):
            x = torch.baddbmm(b, x, w)
            x = F.silu(x) if i + 1 < len(self.weights) else x
        return x


class StandardWorld(nn.Module):
    """mawam's default: standardised joint tokens with norm features, a shared expert beside the routed ones."""

    def __init__(self, o, d, c):
        super().__init__()
        self.slots, self.top, self.joint = c["slots"], c["top_k"], 1 + c["joint"]
        z, y = self.joint * (o + d), self.joint * (2 * o + d)
        self.dynamics_features = nn.Linear(z, 2 * c["dynamics_features"], bias=False)
        self.reward_features = nn.Linear(y, 2 * c["reward_features"], bias=False)
        z, y = z + c["dynamics_features"], y + c["reward_features"]
        self.dispatch, self.combine = (nn.Linear(z, c["experts"] * self.slots, bias=False) for _ in range(2))
        self.experts = Experts(c["experts"], z, c["hidden"], c["hidden"], o)
        self.shared = perceptron(z, c["shared"], c["shared"], o) if c["shared"] else None
        self.router, self.reward_experts = nn.Linear(y, c["reward_experts"]), Experts(c["reward_experts"], y, c["hidden"], c["hidden"], 1)
        self.mean, self.scale, self.act_mean, self.act_scale = torch.zeros(o), torch.ones(o), torch.zeros(d), torch.ones(d)

    def token(self, y, project):
        y = torch.cat([y, y.mean(1, keepdim=True).expand_as(y)], -1) if self.joint > 1 else y
        if not project.out_features:
            return y
        p, q = project(y).chunk(2, -1)
        return torch.cat([y, torch.log(p * p + q * q + 1e-3)], -1)

    def step(self, o, a):
        own = torch.cat([(o - self.mean) / self.scale, (a - self.act_mean) / self.act_scale], -1)
        z = self.token(own, self.dynamics_features)
        slots = torch.softmax(self.dispatch(z), 1).transpose(1, 2) @ z  # b slots z
        b, count, width = slots.shape
        out = self.experts(slots.view(b, -1, self.slots, width).transpose(0, 1).reshape(-1, b * self.slots, width))
        out = out.view(-1, b, self.slots, out.shape[-1]).transpose(0, 1).reshape(b, count, -1)
        change = torch.softmax(self.combine(z), -1) @ out
        change = change + self.shared(z) if self.shared else change
        n = o + self.mean + self.scale * change
        y = self.token(torch.cat([own, (n - self.mean) / self.scale], -1), self.reward_features)
        top, index = torch.softmax(self.router(y), -1).topk(self.top, -1)
        rows = y.view(1, -1, y.shape[-1]).expand(len(self.reward_experts.biases[0]), -1, -1)
        out = self.reward_experts(rows)[..., 0].T.view(*index.shape[:2], -1)
        return n, (top / (top.sum(-1, keepdim=True) + 1e-8) * out.gather(-1, index)).sum(-1)

    @torch.no_grad()
    def score(self, o, actions):
        total = 0
        for a in actions.unbind(1):
            o, r = self.step(o, a)
            total = total + r.sum(-1)
        return total


def conv_norm(a, b):
    return nn.Sequential(nn.Conv1d(a, b, 5, padding=2), nn.GroupNorm(8, b), nn.Mish())


class Block(nn.Module):
    def __init__(self, a, b, e):
        super().__init__()
        self.first, self.second, self.time = conv_norm(a, b), conv_norm(b, b), nn.Linear(e, b)
        self.skip = nn.Conv1d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, e):
        return self.second(self.first(x) + self.time(e)[..., None]) + self.skip(x)


class Attention(nn.Module):
    def __init__(self, c, e):
        super().__init__()
        widths = (c // 4, c // 4, c)
        self.maps = nn.ModuleList(nn.Conv1d(c, w, 1) for w in widths)
        self.times = nn.ModuleList(nn.Linear(e, w) for w in widths)
        self.out, self.gate = nn.Conv1d(c, c, 1), nn.Parameter(torch.zeros(1))

    def forward(self, x, e, n):
        s, c, t = x.shape
        q, k, v = [(m(x) + w(e)[..., None]).view(s // n, n, 4, -1).transpose(1, 2) for m, w in zip(self.maps, self.times)]
        w = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1)
        return x + self.gate * self.out((w @ v).transpose(1, 2).reshape(s, c, t))


class Proposer(nn.Module):
    def __init__(self, o, dim, mults):
        super().__init__()
        c, e = [o] + [dim * m for m in mults], 2 * dim
        self.dim = dim
        self.time = nn.Sequential(nn.Linear(dim, 4 * dim), nn.Mish(), nn.Linear(4 * dim, dim))
        self.target = nn.Sequential(nn.Linear(1, dim), nn.Mish(), nn.Linear(dim, 4 * dim), nn.Mish(), nn.Linear(4 * dim, dim))
        self.down = nn.ModuleList(nn.ModuleList([Block(a, b, e), Block(b, b, e)]) for a, b in zip(c, c[1:]))
        self.shrink = nn.ModuleList(nn.Conv1d(w, w, 3, 2, 1) for w in c[1:-1])
        self.middle = nn.ModuleList([Block(c[-1], c[-1], e), Block(c[-1], c[-1], e)])
        self.gates = nn.ModuleList(Attention(w, e) for w in (c[3], c[3], c[2]))
        self.up = nn.ModuleList(nn.ModuleList([Block(2 * b, a, e), Block(a, a, e), nn.ConvTranspose1d(a, a, 4, 2, 1)])
                                for a, b in ((c[2], c[3]), (c[1], c[2])))
        self.last = nn.Sequential(conv_norm(dim * mults[0], dim * mults[0]), nn.Conv1d(dim * mults[0], o, 1))

    def forward(self, x, j, target, keep):
        b, t, n, o = x.shape
        f = torch.exp(torch.arange(self.dim // 2) * (-math.log(10000) / (self.dim // 2 - 1)))
        a = j[:, None].float() * f
        e = torch.cat([self.time(torch.cat([a.sin(), a.cos()], -1)), keep[:, None] * self.target(target[:, None])], -1)
        e = F.mish(e).repeat_interleave(n, 0)
        x, kept = x.permute(0, 2, 3, 1).reshape(b * n, o, t), []
        for i, (r1, r2) in enumerate(self.down):
            x = r2(r1(x, e), e)
            kept.append(x)
            x = self.shrink[i](x) if i < 2 else x
        for r in self.middle:
            x = r(x, e)
        x = self.gates[0](x, e, n)
        for (r1, r2, grow), gate in zip(self.up, self.gates[1:]):
            x = grow(r2(r1(torch.cat([x, gate(kept.pop(), e, n)], 1), e), e))
        return self.last(x).view(b, n, o, t).permute(0, 3, 1, 2)

    @torch.no_grad()
    def sample(self, x, context, target, steps, bins=5):
        b, c = len(x), context.shape[1]
        keep = torch.cat([torch.ones(b), torch.zeros(b)])
        for k in range(steps, 0, -1):
            x[:, :c] = context
            j = torch.full((2 * b,), (bins * k - 1) // steps)
            u = self(torch.cat([x, x]), j, torch.cat([target, target]), keep)
            x = x - (u[b:] + 1.2 * (u[:b] - u[b:])) / steps
        x[:, :c] = context
        return x

    def loss(self, clean, noise, rho, lam, target, keep, c, bins=5):
        at = lambda s: s[:, None, None, None]
        bin_of = lambda s: (torch.ceil(bins * s) - 1).clamp(0, bins - 1).long()
        x = torch.cat([clean[:, :c], ((1 - at(lam)) * clean + at(lam) * noise)[:, c:]], 1)
        near = self(x, bin_of(rho), target, keep)
        with torch.no_grad():
            far = self(x, bin_of(lam), target, keep)
        v = near + at(lam - rho) * (far - near).detach()
        return ((v - (noise - clean))[:, c:] ** 2).mean()


def median_ms(work, seconds):
    work()
    times, start = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < seconds:
        s = time.perf_counter()
        work()
        times.append(time.perf_counter() - s)
    return 1e3 * sorted(times)[len(times) // 2]


def main():
    p = argparse.ArgumentParser()
    for name, kind in (("n", int), ("o", int), ("d", int), ("T", int), ("C", int), ("H", int), ("M", int), ("K", int),
                       ("envs", int), ("dim", int), ("threads", int), ("seconds", float)):
        p.add_argument("--" + name, type=kind, required=True)
    p.add_argument("--mults", type=int, nargs=3, required=True)
    p.add_argument("--train", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    world, policy, b = World(a.o, a.d), Proposer(a.o, a.dim, a.mults), a.M * a.envs
    o, acts = torch.randn(b, a.n, a.o), torch.randn(b, a.H, a.n, a.d)
    x, context, target = torch.randn(b, a.T, a.n, a.o), torch.randn(b, a.C, a.n, a.o), torch.rand(b)
    out = {"score": median_ms(lambda: world.score(o, acts), a.seconds),
           "generate": median_ms(lambda: policy.sample(x.clone(), context, target, a.K), a.seconds)}
    if a.train:
        batch = [torch.randn(256, a.n, a.o), torch.randn(256, a.n, a.d), torch.randn(256, a.n, a.o), torch.randn(256, a.n)]
        adam = torch.optim.Adam(world.parameters(), 1e-4)

        def world_step():
            adam.zero_grad()
            world.loss(*batch).backward()
            nn.utils.clip_grad_norm_(world.parameters(), 10.0)
            adam.step()

        out["train world step"] = median_ms(world_step, a.seconds)
        clean, noise, lam = torch.randn(64, a.T, a.n, a.o), torch.randn(64, a.T, a.n, a.o), torch.rand(64)
        adam_policy = torch.optim.Adam(policy.parameters(), 1e-4)

        def policy_step():
            adam_policy.zero_grad()
            policy.loss(clean, noise, 0.5 * lam, lam, torch.rand(64), torch.ones(64), a.C).backward()
            adam_policy.step()

        out["train policy step"] = median_ms(policy_step, a.seconds)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
