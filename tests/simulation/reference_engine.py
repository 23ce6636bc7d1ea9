"""A slow, obvious engine: one iteration at a time, plain lists, every choice by looking at all.

It follows the rules of DESIGN 5 and shares nothing with `provisioner.simulation.engine`; times of
iterations are those of `provisioner.performance`. Events at equal times: arrivals, then transfers
by request, then ends of iterations by instance.
"""

from __future__ import annotations

from collections import Counter

from tests.simulation.reference_nouns import INF, Instance, Request
from tests.simulation.reference_routing import NEAR_S, Routing

MOST_PROMPT_TOKENS, MOST_REQUESTS, MOST_STALLS = 2048, 512, 4


class Engine(Routing):
    def __init__(self, pools, requests, rules) -> None:
        self.rules, self.hits, self.come = rules, Counter(), 0
        self.instances = []
        for group, pool in enumerate(pools):
            for _ in range(pool.instances):
                number = len(self.instances)
                role = pool.role.value
                self.instances.append(Instance(number, group, role, pool.deployment))
        self.requests = [
            Request(i, float(t), int(p), int(o), int(k))
            for i, (t, p, o, k) in enumerate(
                zip(
                    requests.arrival_s,
                    requests.prompt_tokens,
                    requests.output_tokens,
                    requests.request_class,
                    strict=True,
                )
            )
        ]
        outputs = [r.output for r in self.requests]
        self.mean_iterations = sum(outputs) / len(outputs) - 1 if outputs else 0.0
        self.given: Counter = Counter()

    # --- events

    def run(self) -> None:
        last = 0.0
        while times := self.events():
            now, _, _, happen, subject = min(times)
            assert now >= last
            assert all(0 <= m.used <= m.room for m in self.instances)
            last = now
            self.hits["ties"] += sum(event[0] == now for event in times) > 1
            self.hits["near ties"] += any(0 < event[0] - now < NEAR_S for event in times)
            happen(subject, now)

    def events(self) -> list:
        coming = self.requests[self.come : self.come + 1]
        times = [(r.arrival_s, 0, r.number, self.arrive, r) for r in coming]
        times += [(r.due_s, 1, r.number, self.moved, r) for r in self.requests if r.due_s < INF]
        return times + [(m.end_s, 2, m.number, self.end, m) for m in self.instances if m.running]

    def arrive(self, r, now) -> None:
        self.come += 1
        self.place(r, now)

    def place(self, r, now) -> None:
        r.source, r.target = self.route(r, now)
        if self.rules.router == "plan-shares":
            for group in {r.source.group, r.target.group}:
                self.given[group, r.kind] += 1
            self.given["all", r.kind] += 1
        r.source.backlog_ns += r.source.alone_ns(r)
        r.source.pending += r.prompt
        r.source.prompts += 1
        r.target.assigned += 1
        r.target.promised += r.prompt + 1
        r.source.waiting.append(r)
        self.wake(r.source, now)

    def wake(self, m, now) -> None:
        if not m.running:
            self.begin(m, now)

    def end(self, m, now) -> None:
        m.account(now)
        for r in m.deciding:
            r.made += 1
            m.used += 1
            r.stalls = 0
            r.times.setdefault("token_start_s", m.start_s)
        for r in [r for r in m.residents if r not in m.deciding]:
            r.stalls += 1
        for r in [r for r in m.residents if r.made == r.output - 1]:
            m.residents.remove(r)
            m.used -= r.prompt + r.output
            m.assigned -= 1
            m.promised -= r.prompt + 1
            r.times["finish_s"] = now
        m.end_s, m.deciding = INF, []
        if m.part:
            m.waiting[0].chunked += m.part
            m.part = 0
        done, m.batch = m.batch, []
        for r in done:
            self.prompt_done(m, r, now)
        self.fill(m, now)
        self.begin(m, now)
        self.go_home(m)

    def prompt_done(self, m, r, now) -> None:
        r.times["first_token_s"] = now
        m.pending -= r.prompt
        m.prompts -= 1
        if r.output == 1:
            r.times.update(ready_s=now, token_start_s=now, finish_s=now)
            m.used -= r.prompt + 1
            r.target.assigned -= 1
            r.target.promised -= r.prompt + 1
            if r.target is not m:
                self.go_home(r.target)
        elif r.target is m:
            r.times["ready_s"] = now
            m.joining.append(r)
        elif r.flow == "early":
            r.flow, r.times["ready_s"] = "late", now + r.floor_s
        elif r.flow == "sent":
            r.flow, r.due_s = "settling", now + r.floor_s
        else:
            r.times["ready_s"] = now
            r.target.incoming.append(r)
            self.receive(r.target, now)

    def moved(self, r, now) -> None:
        r.due_s, flow = INF, r.flow
        if flow == "returning":
            m, r.flow = r.target, ""
            m.returning = None
            m.joining.append(r)
            self.bring_back(m, now)
            self.wake(m, now)
            return
        if flow != "settling":
            r.flow = "sent"
            self.share_links(now)
            if flow == "early":
                return
            if r.times["ready_s"] > now:
                r.flow, r.due_s = "settling", r.times["ready_s"]
                return
        r.flow, r.times["ready_s"] = "", now
        r.source.used -= r.prompt + 1
        r.target.joining.append(r)
        self.wake(r.target, now)
        self.fill(r.source, now)
        if r.source.waiting:
            self.wake(r.source, now)

    # --- one iteration

    def begin(self, m, now) -> None:
        while m.joining and len(m.residents) < MOST_REQUESTS:
            m.residents.append(m.joining.pop(0))
        while m.residents and not m.fits(0):
            self.pause(m, max(m.residents, key=lambda r: r.number), now)
        m.prompt_tokens = 0
        m.start_s, m.deciding = now, list(m.residents)
        take = self.take_chunks if self.rules.chunk_tokens else self.take_prompts
        squared = take(m, now)
        if not m.prompt_tokens and not m.deciding:
            return
        m.end_s = now + m.iteration_s(squared)
        for r in list(m.batch):
            if r.target is not m and r.output > 1:
                self.overlap(r, m.end_s - now, now)

    def take_prompts(self, m, now) -> float:
        aged = [r for r in m.residents if r.stalls >= MOST_STALLS]
        self.hits["aged"] += len(aged)
        squared = 0.0
        while m.waiting and not m.paused and not m.returning:
            r = m.waiting[0]
            if len(m.batch) + len(aged) >= MOST_REQUESTS:
                break
            several = m.batch or aged
            if several and m.prompt_tokens + r.prompt > MOST_PROMPT_TOKENS - len(aged):
                break
            if not self.admit(m, r, now):
                break
            self.take(m, r)
            m.prompt_tokens += r.prompt
            squared += float(r.prompt) ** 2
        if m.batch:
            most = min(max(MOST_PROMPT_TOKENS - m.prompt_tokens, 0), MOST_REQUESTS - len(m.batch))
            others = [r for r in m.residents if r not in aged][: max(most - len(aged), 0)]
            m.deciding = [r for r in m.residents if r in aged or r in others]
            self.hits["stalls"] += len(m.residents) - len(m.deciding)
        return squared

    def take_chunks(self, m, now) -> float:
        squared, budget = 0.0, self.rules.chunk_tokens - len(m.residents)
        while m.waiting and budget > 0:
            r = m.waiting[0]
            if r.chunked == 0 and (m.paused or m.returning or not self.admit(m, r, now)):
                break
            part = min(r.prompt - r.chunked, budget)
            m.prompt_tokens, budget = m.prompt_tokens + part, budget - part
            squared += float(r.chunked + part) ** 2 - float(r.chunked) ** 2
            self.hits["chunks"] += 1
            if r.chunked + part < r.prompt:
                m.part = part
                break
            self.take(m, r)
        return squared

    def admit(self, m, r, now) -> bool:
        if not m.fits(r.held):
            self.hits["waits for room"] += 1
            return False
        m.used += r.held
        r.times["prompt_start_s"] = now
        return True

    def take(self, m, r) -> None:
        m.waiting.remove(r)
        m.batch.append(r)
        m.backlog_ns -= m.alone_ns(r)

    def pause(self, m, r, now) -> None:
        m.residents.remove(r)
        m.used -= r.held
        r.out_s = now + m.host_s(r)
        m.paused.append(r)
        self.hits["pauses"] += 1

    def bring_back(self, m, now) -> None:
        if m.returning or not m.paused:
            return
        r = m.paused[0]
        if not m.fits(r.held + len(m.residents) + 1):
            return
        m.paused.pop(0)
        m.used += r.held
        m.returning, r.flow = r, "returning"
        r.due_s = max(now, r.out_s) + m.host_s(r)

    def fill(self, m, now) -> None:
        self.bring_back(m, now)
        self.receive(m, now)

    # --- transfers

    def overlap(self, r, prompt_s, now) -> None:
        serial_s = r.bytes / min(
            r.source.deployment.transfer_bytes_per_s, r.target.deployment.transfer_bytes_per_s
        )
        if max(serial_s - prompt_s, r.floor_s) >= serial_s:
            return
        if r.target.incoming or r.target.paused or not r.target.fits(r.held):
            return
        self.hits["layer by layer"] += 1
        self.send(r, "early", now)

    def receive(self, m, now) -> None:
        while m.incoming and not m.paused and m.fits(m.incoming[0].held):
            self.hits["serialised"] += 1
            self.send(m.incoming.pop(0), "late", now)

    def send(self, r, flow, now) -> None:
        r.target.used += r.held
        r.flow, r.left_bytes, r.rate, r.out_s = flow, r.bytes, 0.0, now
        self.share_links(now)

    def share_links(self, now) -> None:
        flows = [r for r in self.requests if r.flow in ("early", "late")]
        for r in flows:
            r.left_bytes = max(r.left_bytes - r.rate * (now - r.out_s), 0.0)
            r.out_s = now
        for r in flows:
            out = sum(other.source is r.source for other in flows)
            into = sum(other.target is r.target for other in flows)
            self.hits["shared links"] += out > 1 or into > 1
            r.rate = min(
                r.source.deployment.transfer_bytes_per_s / out,
                r.target.deployment.transfer_bytes_per_s / into,
            )
            r.due_s = now + r.left_bytes / r.rate
