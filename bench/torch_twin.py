"""The networks in PyTorch, for measuring side by side: the world models of mawam and of the paper, the proposer.

A process of this script measures what it is asked for, line by line: {"sizes", "H", "K", "M", "envs", "work", "seconds"} on
its standard input, {"ms": [...]} on its output. Its first line says what it runs on. Experts are batched products, which
PyTorch does faster than one after the other. Started by torch_runs.py, which sets threads and BLAS kernels.
"""
import json
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

import blas


def perceptron(inputs, hidden, layers, outputs, activation=nn.SiLU):
    sizes = [inputs] + [hidden] * layers
    inner = [part for i in range(layers) for part in (nn.Linear(sizes[i], sizes[i + 1]), activation())]
    return nn.Sequential(*inner, nn.Linear(hidden, outputs))


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


class World(nn.Module):
    """Both variants: layer norms around the tokens (paper), or standardised tokens that carry what agents share, norm
    features and an expert that meets every token (mawam's)."""

    def __init__(self, n, o, d, c):
        super().__init__()
        self.slots, self.top, self.standardise = c["slots"], c["top_k"], c["standardise"]
        self.mean_agents, self.concat_agents = c.get("mean_agents", False), c.get("concat_agents", False)
        z, y = self.width(o + d, n), self.width(2 * o + d, n)
        if not self.standardise:
            self.norm_in, self.norm_out, self.norm_reward = nn.LayerNorm(z), nn.LayerNorm(o), nn.LayerNorm(y)
        features, reward_features = c["dynamics_features"], c["reward_features"]
        self.features = nn.Linear(z, 2 * features, bias=False) if features else None
        self.reward_features = nn.Linear(y, 2 * reward_features, bias=False) if reward_features else None
        z, y = z + features, y + reward_features
        self.dispatch, self.combine = (nn.Linear(z, c["experts"] * self.slots, bias=False) for _ in range(2))
        self.experts = Experts(c["experts"], z, c["hidden"], c["hidden"], o)
        self.shared = perceptron(z, c["shared"], 2, o) if c.get("shared") else None
        self.router, self.reward_experts = nn.Linear(y, c["reward_experts"]), Experts(c["reward_experts"], y, c["hidden"], c["hidden"], 1)
        self.mean, self.scale, self.act_mean, self.act_scale = torch.zeros(o), torch.ones(o), torch.zeros(d), torch.ones(d)
        self.ids = torch.eye(n)

    def width(self, values, n):
        return values * (n + 1) + n if self.concat_agents else 2 * values if self.mean_agents else values

    def token(self, y, norm, project):
        b, n, _ = y.shape
        if self.concat_agents:
            y = torch.cat([y, self.ids.expand(b, n, n), y.reshape(b, 1, -1).expand(b, n, -1)], -1)
        elif self.mean_agents:
            y = torch.cat([y, y.mean(1, keepdim=True).expand_as(y)], -1)
        y = norm(y) if norm else y
        if not project:
            return y
        p, q = project(y).chunk(2, -1)
        return torch.cat([y, torch.log(p * p + q * q + 1e-3)], -1)

    def dynamics(self, o, a):
        """The next observation, and the token's own part, which the reward's begins with."""
        own = torch.cat([(o - self.mean) / self.scale, (a - self.act_mean) / self.act_scale] if self.standardise else [o, a], -1)
        z = self.token(own, None if self.standardise else self.norm_in, self.features)
        slots = torch.softmax(self.dispatch(z), 1).transpose(1, 2) @ z  # b slots z
        b, count, width = slots.shape
        out = self.experts(slots.view(b, -1, self.slots, width).transpose(0, 1).reshape(-1, b * self.slots, width))
        out = out.view(-1, b, self.slots, out.shape[-1]).transpose(0, 1).reshape(b, count, -1)
        change = torch.softmax(self.combine(z), -1) @ out
        change = change + self.shared(z) if self.shared else change
        return o + (self.mean + self.scale * change if self.standardise else self.norm_out(change)), own

    def reward(self, own, n):
        n = (n - self.mean) / self.scale if self.standardise else n
        y = self.token(torch.cat([own, n], -1), None if self.standardise else self.norm_reward, self.reward_features)
        q = torch.softmax(self.router(y), -1)
        top, index = q.topk(self.top, -1)
        rows = y.reshape(1, -1, y.shape[-1]).expand(q.shape[-1], -1, -1)
        out = self.reward_experts(rows)[..., 0].T.view(*q.shape)
        r = (top / (top.sum(-1, keepdim=True) + 1e-8) * out.gather(-1, index)).sum(-1)
        return r, q, index

    @torch.no_grad()
    def score(self, o, actions):
        total = 0
        for a in actions.unbind(1):
            o, own = self.dynamics(o, a)
            total = total + self.reward(own, o)[0].sum(-1)
        return total

    def loss(self, o, a, n, r):
        predicted, own = self.dynamics(o, a)
        rewards, q, index = self.reward(own, predicted.detach())
        share = F.one_hot(index, q.shape[-1]).float().sum(-2).mean((0, 1))
        balance = q.shape[-1] * (share * q.mean((0, 1))).sum()
        return F.mse_loss(predicted, n) + F.mse_loss(rewards, r) + 0.01 * balance


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
    """The U-Net over time; with a forecast, what it generates is what the forecast of the present leaves open."""

    def __init__(self, n, o, p):
        super().__init__()
        dim, mults = p["dim"], p["mults"]
        c, e = [o] + [dim * m for m in mults], 2 * dim
        self.dim, self.context, self.ahead = dim, p["context"], p["time"] - p["context"]
        self.time = nn.Sequential(nn.Linear(dim, 4 * dim), nn.Mish(), nn.Linear(4 * dim, dim))
        self.target = nn.Sequential(nn.Linear(1, dim), nn.Mish(), nn.Linear(dim, 4 * dim), nn.Mish(), nn.Linear(4 * dim, dim))
        self.down = nn.ModuleList(nn.ModuleList([Block(a, b, e), Block(b, b, e)]) for a, b in zip(c, c[1:]))
        self.shrink = nn.ModuleList(nn.Conv1d(w, w, 3, 2, 1) for w in c[1:-1])
        self.middle = nn.ModuleList([Block(c[-1], c[-1], e), Block(c[-1], c[-1], e)])
        self.gates = nn.ModuleList(Attention(w, e) for w in (c[3], c[3], c[2]))
        self.up = nn.ModuleList(nn.ModuleList([Block(2 * b, a, e), Block(a, a, e), nn.ConvTranspose1d(a, a, 4, 2, 1)])
                                for a, b in ((c[2], c[3]), (c[1], c[2])))
        self.last = nn.Sequential(conv_norm(dim * mults[0], dim * mults[0]), nn.Conv1d(dim * mults[0], o, 1))
        self.told = bool(p.get("forecast_return"))
        self.forecast = perceptron(o + n + self.told, p["forecast"], 3, self.ahead * o) if p.get("forecast") else None
        self.ids = torch.eye(n)

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

    def expect(self, present, target):
        """[b][T - C][n][o]: the changes that the forecast sees coming."""
        b, n, o = present.shape
        seen = [present, self.ids.expand(b, n, n)] + [target.view(b, 1, 1).expand(b, n, 1)] * self.told
        return self.forecast(torch.cat(seen, -1)).view(b, n, self.ahead, o).transpose(1, 2)

    @torch.no_grad()
    def sample(self, x, context, target, steps, guidance=1.2, bins=5):
        """With a guidance of 1 what is generated without the condition does not count, and one pass is enough."""
        b, c, passes = len(x), self.context, 1 if guidance == 1 else 2
        keep = torch.cat([torch.ones(b), torch.zeros(b)])[:passes * b]
        for k in range(steps, 0, -1):
            x[:, :c] = context
            j = torch.full((passes * b,), (bins * k - 1) // steps)
            u = self(x.repeat(passes, 1, 1, 1), j, target.repeat(passes), keep)
            x = x - (u if passes == 1 else u[b:] + guidance * (u[:b] - u[b:])) / steps
        x[:, :c] = context
        if self.forecast:
            x[:, c:] += context[:, -1:] + self.expect(context[:, -1], target)
        return x

    def loss(self, clean, noise, rho, lam, target, keep, bins=5):
        c, at = self.context, lambda s: s[:, None, None, None]
        bin_of = lambda s: (torch.ceil(bins * s) - 1).clamp(0, bins - 1).long()
        if self.forecast:
            with torch.no_grad():
                expected = self.expect(clean[:, c - 1], target)
                clean = torch.cat([clean[:, :c], clean[:, c:] - clean[:, c - 1:c] - expected], 1)
        x = torch.cat([clean[:, :c], ((1 - at(lam)) * clean + at(lam) * noise)[:, c:]], 1)
        near = self(x, bin_of(rho), target, keep)
        with torch.no_grad():
            far = self(x, bin_of(lam), target, keep)
        v = near + at(lam - rho) * (far - near).detach()
        return ((v - (noise - clean))[:, c:] ** 2).mean()


class Twin:
    """The two networks of some sizes, and the work that can be asked of them."""

    def __init__(self, sizes):
        torch.manual_seed(0)
        self.sizes, n, o = sizes, sizes["agents"], sizes["obs"]
        self.world, self.policy = World(n, o, sizes["act"], sizes["world"]), Proposer(n, o, sizes["policy"])
        self.adam, inverse = {}, sizes.get("inverse")
        if inverse:
            self.inverse = perceptron(2 * o + n * inverse.get("ids", False), inverse["hidden"], inverse.get("layers", 2), sizes["act"], nn.ReLU)

    def step(self, name, network, loss, clip):
        adam = self.adam.setdefault(name, torch.optim.Adam(network.parameters(), 1e-4))
        adam.zero_grad()
        loss().backward()
        nn.utils.clip_grad_norm_(network.parameters(), clip)
        adam.step()

    @torch.no_grad()
    def decide(self, context, target, steps, horizon, guidance):
        """Candidates, their actions by inverse dynamics, their scores, the first action of the best."""
        m, c, n, o = context.shape
        x = self.policy.sample(torch.randn(m, self.sizes["policy"]["time"], n, o), context, target, steps, guidance)
        parts = [x[:, c - 1:-1][:, :horizon], x[:, c:][:, :horizon]]
        if self.sizes["inverse"].get("ids"):
            parts.append(self.policy.ids.expand(m, horizon, n, n))
        acts = self.inverse(torch.cat(parts, -1))
        if self.sizes["discrete"]:
            acts = F.one_hot(acts.argmax(-1), acts.shape[-1]).float()
        return acts[self.world.score(context[:, -1], acts).argmax(), 0].tolist()

    def work(self, ask):
        s, rows = self.sizes, ask["M"] * ask["envs"]
        n, o, d, p = s["agents"], s["obs"], s["act"], s["policy"]
        if ask["work"] == "score":
            start, acts = torch.randn(rows, n, o), torch.randn(rows, ask["H"], n, d)
            return lambda: self.world.score(start, acts)
        if ask["work"] == "generate":
            x, context, target = torch.randn(rows, p["time"], n, o), torch.randn(rows, p["context"], n, o), torch.rand(rows)
            return lambda: self.policy.sample(x.clone(), context, target, ask["K"])
        if ask["work"] == "world":
            rows = s["world_batch"]
            batch = [torch.randn(rows, n, w) for w in (o, d, o)] + [torch.randn(rows, n)]
            return lambda: self.step("world", self.world, lambda: self.world.loss(*batch), 10.0)
        if ask["work"] == "decide":
            context, target = torch.randn(1, p["context"], n, o).expand(rows, -1, -1, -1), torch.rand(rows)
            return lambda: self.decide(context, target, ask["K"], ask["H"], ask["guidance"])
        rows, more = s["policy_batch"], s["forecast_batch"]
        clean, noise, lam, target = torch.randn(rows, p["time"], n, o), torch.randn(rows, p["time"], n, o), torch.rand(rows), torch.rand(rows)
        outlook, wanted = torch.randn(more, 1 + p["time"] - p["context"], n, o), torch.rand(more)

        def loss():
            total = self.policy.loss(clean, noise, 0.5 * lam, lam, target, torch.ones(rows))
            if more:
                total = total + F.mse_loss(self.policy.expect(outlook[:, 0], wanted), outlook[:, 1:] - outlook[:, :1])
            return total

        return lambda: self.step("policy", self.policy, loss, 10.0)


def times_ms(work, seconds):
    """A call that nobody counts, unless it takes longer than all the time there is; then for the time, one at least."""
    times, start = [], time.perf_counter()
    work()
    first = time.perf_counter() - start
    if first > seconds:
        return [1e3 * first]
    start = time.perf_counter()
    while not times or time.perf_counter() - start < seconds:
        s = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - s))
    return times


def sgemm_gflops(size=1536, seconds=0.5):
    a, b = torch.randn(size, size), torch.randn(size, size)
    return 2e-6 * size**3 / min(times_ms(lambda: a @ b, seconds))


def main():
    torch.set_num_threads(int(sys.argv[1]))
    twins, rate = {}, sgemm_gflops()
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), "blas": blas.require(), "sgemm_gflops": rate}), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        key = json.dumps(ask["sizes"])
        if key not in twins:
            twins = {key: Twin(ask["sizes"])}  # one at a time: the paper's takes a gigabyte
        print(json.dumps({"ms": times_ms(twins[key].work(ask), ask["seconds"])}), flush=True)


if __name__ == "__main__":
    main()
