"""The obvious engine with machines that fail: it takes them out and looks at who is left behind."""

from __future__ import annotations

from tests.simulation.reference_engine import Engine
from tests.simulation.reference_nouns import INF


class FailingEngine(Engine):
    """Events at equal times: failures, then requests that restart, then as without failures."""

    def __init__(self, pools, requests, rules, failures) -> None:
        super().__init__(pools, requests, rules)
        self.machines = list(self.instances)
        self.noticed, self.again = set(), []
        self.dying: dict = {}
        for failure in failures:
            before = sum(pool.instances for pool in pools[: failure.pool])
            each = pools[failure.pool].deployment.instances_per_machine
            first = before + failure.machine * each
            self.dying.setdefault(failure.time_s, []).extend(self.machines[first : first + each])

    def events(self) -> list:
        times = super().events()
        times += [(r.restart_s, 0, r.number - 1e6, self.restart, r) for r in self.again]
        times += [(m.noticed_s, 2, m.number, self.look, m) for m in self.noticed]
        return times + [(t, -1, 0, self.fail, dying) for t, dying in self.dying.items()]

    def begin(self, m, now) -> None:
        self.noticed.discard(m)
        super().begin(m, now)

    def look(self, m, now) -> None:
        self.fill(m, now)
        self.begin(m, now)
        self.go_home(m)

    def restart(self, r, now) -> None:
        self.again.remove(r)
        self.place(r, now)

    def fail(self, dying, now) -> None:
        del self.dying[now]
        for m in set(dying) & set(self.instances):
            if m.running:
                m.account(now)
            self.noticed.discard(m)
            self.instances.remove(m)
        present = [r for r in self.requests[: self.come] if "finish_s" not in r.times]
        for r in present:
            if self.holder(r) not in self.instances:
                self.let_go(r, now)
                self.start_over(r, now)
        for m in self.instances:
            self.go_home(m)
        for r in present:
            if r not in self.again and r.target not in self.instances:
                self.redirect(r, now)

    def holder(self, r):
        under_way = r.flow in ("late", "settling") or r in r.target.incoming
        return r.target if "first_token_s" in r.times and not under_way else r.source

    def let_go(self, r, now) -> None:
        flow, m = r.flow, r.target
        r.flow, r.due_s = "", INF
        self.share_links(now)
        if m not in self.instances:
            return
        m.assigned -= 1
        m.promised -= r.prompt + 1
        if r in m.incoming:
            m.incoming.remove(r)
            self.hits["lost while waiting for room"] += 1
        elif flow:
            m.used -= r.held
            self.hits["lost under way"] += 1
        self.notice(m, now)

    def notice(self, m, now) -> None:
        if not m.running:
            m.noticed_s = now
            self.noticed.add(m)

    def start_over(self, r, now) -> None:
        self.hits["restarts"] += 1
        self.hits["restarts while generating"] += r.made > 0
        r.times.clear()
        r.made = r.chunked = r.stalls = 0
        r.restart_s = now
        self.again.append(r)

    def redirect(self, r, now) -> None:
        self.hits["redirects"] += 1
        self.let_go(r, now)
        target = self.best_token("token", r)
        if target is None and self.rules.scheduler == "mixed-pool":
            target = self.best_token("mixed", r)
        if target is None:
            target = r.source
            target.foreign = target.role != "mixed"
            self.hits["redirects to the source"] += 1
        r.target = target
        target.assigned += 1
        target.promised += r.prompt + 1
        if "first_token_s" not in r.times:
            return
        self.hits["redirects after the prompt"] += 1
        r.times["ready_s"] = now
        (target.joining if target is r.source else target.incoming).append(r)
        self.notice(target, now)
