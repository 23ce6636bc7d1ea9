"""Where the obvious engine sends a request: by looking at every instance."""

from __future__ import annotations

from tests.simulation.reference_nouns import INF

MOST_REQUESTS = 512
NEAR_S = 1e-11


class Routing:
    """Schedulers and routers; the loads are those of the instances at the moment."""

    def route(self, r, now):
        if self.rules.scheduler == "colocated":
            m = self.best_prompt("mixed", r, now)
            return m, m
        source, target = self.best_prompt("prompt", r, now), self.best_token("token", r)
        if self.rules.scheduler == "split":
            return source, target
        if not self.takes_prompt(source, r):
            source = self.best_prompt("mixed", r, now)
            if not self.takes_prompt(source, r):
                source = self.borrow("token", lambda m: m.pending)
        if not self.takes_tokens(target, r):
            target = self.best_token("mixed", r)
            if not self.takes_tokens(target, r):
                target = self.borrow("prompt", lambda m: m.promised)
        if source is None or target is None:
            m = min(self.instances, key=lambda m: m.pending)
            self.hits["nobody to borrow"] += 1
            return m, m
        return source, target

    def borrow(self, role, load):
        able = [m for m in self.instances if m.role == role and not m.foreign]
        m = min(able, key=load, default=None)
        if m is not None:
            m.foreign = True
            self.hits["borrowed"] += 1
        return m

    def go_home(self, m) -> None:
        left = {"prompt": m.assigned, "token": m.prompts}.get(m.role, 1)
        if m.foreign and left == 0:
            m.foreign = False
            self.hits["went home"] += 1

    def takes_prompt(self, m, r) -> bool:
        full = m is not None and m.waiting and m.pending + r.prompt > self.rules.most_waiting_tokens
        return m is not None and not full

    def takes_tokens(self, m, r) -> bool:
        return m is not None and m.promised + r.held <= m.room

    def candidates(self, pool, r):
        able = [m for m in self.instances if m.in_pool(pool)]
        wanted = self.wanted(pool, r)
        return able if wanted is None else [m for m in able if m.group == wanted]

    def wanted(self, pool, r):
        if self.rules.router != "plan-shares":
            return None
        best, furthest = None, -INF
        for group in dict.fromkeys(m.group for m in self.instances if m.role == pool):
            share = self.rules.shares[group, r.kind]
            behind = share * (self.given["all", r.kind] + 1) - self.given[group, r.kind]
            if share > 0 and behind > furthest + 1e-9:
                best, furthest = group, behind
        return best

    def best_prompt(self, pool, r, now):
        return self.least(self.candidates(pool, r), lambda m: self.prompt_end(m, r, now))

    def best_token(self, pool, r):
        return self.least(self.candidates(pool, r), self.token_load)

    def least(self, able, load):
        loads = [load(m) for m in able]
        near = [m for m, value in zip(able, loads, strict=True) if value - min(loads) < NEAR_S]
        rounded = len(set(loads)) < len(loads) and any(m.running and m.batch for m in near)
        differ = any(0 < value - min(loads) < NEAR_S for value in loads)
        self.hits["near ties"] += len(near) > 1 and (differ or rounded)
        return able[loads.index(min(loads))] if able else None

    def prompt_end(self, m, r, now) -> float:
        colocated = self.rules.scheduler == "colocated"
        if self.rules.router == "shortest-queue":
            return now + m.pending + (m.assigned if colocated else 0)
        load = m.backlog_ns * 1e-9
        if colocated:
            load += self.mean_iterations * self.token_load(m)
        begins = m.end_s if m.running and m.prompt_tokens else now
        return begins + load + m.alone_ns(r) * 1e-9

    def token_load(self, m) -> float:
        if self.rules.router == "shortest-queue":
            return float(m.promised)
        batch = min(max(m.assigned, 1), MOST_REQUESTS)
        full = 1e6 * m.promised / m.room if m.promised > m.room else 0.0
        return float(m.deployment.token_s(batch, m.promised)) + full
