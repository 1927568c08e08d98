// A run that is followed while the server goes away and comes back.

import assert from "node:assert/strict";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../../server/test/support/database.ts";
import { createReadyDeployment, promote } from "../../server/test/support/deploy.ts";
import { enrollWorker, type HeldLease, type RawWorker } from "../../server/test/support/raw-worker.ts";
import { usedHeapBytes } from "./support/heap.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { logChunks, say } from "./support/run-writes.ts";
import { isLong } from "../../server/test/support/seeded-random.ts";
import { letPass } from "../../server/test/support/until.ts";
import { until } from "./support/until.ts";

/** How long the page follows a busy run; a suite that should be quick takes some hundred reports of it. */
const LONG_SECONDS = isLong() ? 600 : 0;
/** Each of a hundred lines and two events. */
const LONG_REPORTS_PER_SECOND = 20;
/** What the page keeps of a log, and at most of all. */
const MOST_LINES = 2_000_000;
const MOST_CHARACTERS = 128 * 1024 * 1024;
const MOST_KEPT_BYTES = MOST_CHARACTERS + 40 * MOST_LINES + 2000 * 22_000;
/**
 * What the page keeps has two limits, and the oldest lines go past either in the same way. The short form goes past that of
 * lines, by short ones; the long form past that of characters, which takes six times as many bytes.
 */
const WIDE = isLong() ? "x".repeat(4000) : "";
const WRITTEN_LINES = isLong() ? 500 : 100_000;
const options = { skip: WITHOUT_CHROMIUM, timeout: 300_000 + 1000 * LONG_SECONDS };

/** One address for servers that come and go; without one, connections break, as they do while a server restarts. */
async function startAddress(): Promise<{
  url: string;
  lead(to: string | null): void;
  stop(): Promise<void>;
}> {
  let target: URL | null = null;
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    if (target === null) {
      socket.destroy();
      return;
    }
    const onward = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    lead: (to) => {
      target = to === null ? null : new URL(to);
      if (to === null) breakAll();
    },
    stop: async () => {
      breakAll();
      listener.close();
      await once(listener, "close");
    },
  };
}

describe("a run that is followed", options, () => {
  let database: TestDatabase;
  let address: Awaited<ReturnType<typeof startAddress>>;
  let current: ApiServer;
  let credentials: ApiServer["credentials"];
  let console: ConsolePage;
  let worker: RawWorker;
  let lease: HeldLease;
  /** Servers share the database, which outlives them. */
  const startServer = async (): Promise<void> => {
    current = await startApiServer({
      database: { url: database.url, drop: () => Promise.resolve() },
      config: { leaseDurationMs: 300_000 + 1000 * LONG_SECONDS },
    });
    credentials ??= current.credentials;
    address.lead(current.url);
  };
  const call: ApiServer["call"] = (method, path, how = {}) =>
    current.call(method, path, { as: credentials.api_key, ...how });
  const region = (name: string) => console.page.getByRole("region", { name, exact: true });

  before(async () => {
    database = await createTestDatabase();
    address = await startAddress();
    await startServer();
    const view: ApiServer = { ...current, url: address.url, credentials, call };
    worker = await enrollWorker(view);
    await promote(view, (await createReadyDeployment(view, worker.token, { tasks: [{ id: "report" }] })).id);
    const started = await call("POST", "/v1/tasks/report/start", { body: {} });
    assert.equal(started.status, 201);
    lease = await worker.takeOne();
    await worker.report(lease.operation("start"));
    console = await openConsole(view, { viewport: { width: 1280, height: 2400 } });
  });
  after(async () => {
    await console?.close();
    await current?.stop();
    await address?.stop();
    await database?.drop();
  });

  let said = 0;
  const sayMore = async (count = 1): Promise<void> => {
    for (let left = count; left > 0; left -= 1) {
      said += 1;
      await say(worker, lease, {
        logs: logChunks(`line ${said}, half `, ["stderr", `aside ${said}\n`], `and whole €${said}\n`),
        events: [{ kind: "step.completed", message: `Step ${said}.`, attributes: { step: `s${said}` } }],
      });
    }
  };
  const logRows = async (): Promise<string[]> =>
    (await console.page.evaluate(
      `[...document.querySelectorAll("[data-log-row]")].map((row) => row.lastElementChild.textContent)`,
    )) as string[];

  test("goes on by itself when the server is back, with nothing missing or doubled", async () => {
    const { page } = console;
    await sayMore(5);
    await console.goto(`runs/${lease.runId}?tab=logs`);
    await region("Log").getByText("€5").waitFor();
    for (let restart = 0; restart < 2; restart += 1) {
      address.lead(null);
      await current.stop();
      await page.getByText("Reconnecting").waitFor();
      await startServer();
      await sayMore(5);
      await region("Log").getByText(`€${said}`).waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
    }
    await sayMore(5);
    await worker.report(lease.operation("release", { outcome: "succeeded" }));
    await page.getByRole("main").getByText("succeeded").waitFor();
    await region("Log").getByText(`€${said}`).waitFor();
    const expected = Array.from({ length: said }, (_, index) => [
      `line ${index + 1}, half and whole €${index + 1}`,
      `aside ${index + 1}`,
    ]);
    assert.deepEqual(await logRows(), expected.flat());
    await page.getByRole("tab", { name: "Events" }).click();
    const { events } = (await call("GET", `/v1/runs/${lease.runId}/events?limit=200`)).body;
    await page.getByText(`${events.length} of ${events.length} events`).waitFor();
    const shown = await page.evaluate(
      `[...document.querySelectorAll("[aria-label=Events] li")].map((row) => [row.querySelector("span").textContent, row.querySelector("bdi").textContent])`,
    );
    assert.deepEqual(
      shown,
      events.map(({ id, message }: { id: string; message: string }) => [id, message]),
    );
    assert.deepEqual(
      console.problems.filter((problem) => !/ERR_|fetch/i.test(problem)),
      [],
    );
  });

  /** Has the page follow the log of another run, of which it shows nothing yet. */
  const followAnother = async (): Promise<number> => {
    await call("POST", "/v1/tasks/report/start", { body: {} });
    lease = await worker.takeOne();
    await worker.report(lease.operation("start"));
    await console.goto(`runs/${lease.runId}?tab=logs`);
    await console.page.getByText("No output yet").waitFor();
    return await usedHeapBytes(console.page);
  };

  test("costs the page no more than what it keeps, however busy it is and however long", async (t) => {
    const before = await followAnother();
    const began = performance.now();
    const heap: { atS: number; bytes: number }[] = [];
    let lines = 0;
    let bytes = 0;
    let reports = 0;
    const secondsSince = (): number => (performance.now() - began) / 1000;
    const measure = async (): Promise<void> => {
      await region("Log").getByText(`line ${lines} of`).waitFor();
      heap.push({ atS: Math.round(secondsSince()), bytes: (await usedHeapBytes(console.page)) - before });
      t.diagnostic(`${heap.at(-1)?.atS} s: ${lines} lines, ${bytes} bytes of log in ${heap.at(-1)?.bytes}`);
    };
    for (; reports < 100 || secondsSince() < LONG_SECONDS; reports += 1) {
      const text = Array.from({ length: 100 }, () => `line ${(lines += 1)} of a busy run\n`).join("");
      bytes += text.length;
      const event = {
        kind: "step.completed",
        message: "Step.",
        attributes: { step: `s${reports}`, duration_ms: 1 },
      };
      await say(worker, lease, { logs: logChunks(text), events: [event, event] });
      if (reports < 100) continue;
      const aheadMs = 1000 * (reports / LONG_REPORTS_PER_SECOND - secondsSince());
      await letPass(Math.max(0, aheadMs), "reports come at a rate");
      if (secondsSince() < (heap.at(-1)?.atS ?? 0) + 60) continue;
      await worker.renewToken();
      await measure();
    }
    await measure();
    await until(console.page, `document.querySelectorAll("[data-log-row]").length < 400`);
    const kept = Math.min(2 * bytes + 40 * lines + 2 * 2000 * reports, MOST_KEPT_BYTES);
    const most = (part: typeof heap): number => Math.max(...part.map((one) => one.bytes));
    assert.ok(most(heap) < kept + 16 * 1024 * 1024, `${most(heap)} bytes more`);
    // Once there is more than is kept, nothing grows.
    if (lines < 2 * MOST_LINES) return;
    const half = heap.filter(({ atS }) => atS < LONG_SECONDS / 2);
    assert.ok(most(heap.slice(half.length)) < most(half) + 16 * 1024 * 1024, JSON.stringify(heap));
  });

  test("lets the oldest lines go past what it keeps, under a reader who stays where he is", async (t) => {
    const before = await followAnother();
    const { page } = console;
    let lines = 0;
    let bytes = 0;
    const write = async (share: number): Promise<void> => {
      while (isLong() ? bytes < share * MOST_CHARACTERS : lines < share * MOST_LINES) {
        const text = Array.from({ length: WRITTEN_LINES }, () => `line ${(lines += 1)} of ${WIDE}\n`).join(
          "",
        );
        bytes += text.length;
        await say(worker, lease, { logs: logChunks(text) });
      }
      await page
        .getByText(`${lines.toLocaleString("en-US")} lines`)
        .or(page.getByText("the newest"))
        .waitFor();
    };
    const seen = async (): Promise<string> =>
      (await page.evaluate(
        `(() => { const log = document.querySelector("[aria-label=Log]"), { top } = log.getBoundingClientRect();
          return [...log.querySelectorAll("[data-log-row]")].find((row) => row.getBoundingClientRect().bottom > top + 1)
            .textContent.slice(0, 20); })()`,
      )) as string;
    await write(0.9);
    await region("Log").getByText(`line ${lines} of`).waitFor();
    await region("Log").hover();
    await page.mouse.wheel(0, -5000);
    await page.getByRole("button", { name: "Resume following" }).waitFor();
    await until(page, "new Promise((done) => setTimeout(() => done(true), 500))");
    const read = await seen();
    assert.match(read, /line \d+ of/);
    await write(isLong() ? 1.5 : 1.2);
    await page.getByText("the newest; the download has all").waitFor();
    assert.equal(await seen(), read);
    await page.getByRole("button", { name: "Resume following" }).click();
    await region("Log").getByText(`line ${lines} of`).waitFor();
    const grown = (await usedHeapBytes(page)) - before;
    t.diagnostic(`${bytes} bytes of log in ${grown} bytes of memory`);
    assert.ok(grown < MOST_CHARACTERS + 16 * 1024 * 1024, `${grown} bytes more`);
  });
});
