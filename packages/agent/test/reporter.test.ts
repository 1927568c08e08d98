// What leaves in one report, and when. The server here is a promise that the test answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { DurableCall, ErrorCode, Execution, ReportResponse } from "@keelson/contract";
import { CANCELLED, REJECTED } from "../src/executions/decide-release.ts";
import type { ChannelListener } from "../src/reporter/lease-channel.ts";
import { Reporter } from "../src/reporter/reporter.ts";
import { until } from "../../server/test/support/until.ts";

const AT = "2026-11-28T09:30:00.000Z";
const APPLIED = { status: 200, error: null };

const resultOf = (code: ErrorCode | undefined): ReportResponse["results"][number] =>
  code === undefined
    ? APPLIED
    : { status: 409, error: { code, message: "It is gone.", details: null, request_id: "req_1" } };

const never = (): never => assert.fail("nothing is refused, lost or wrong here");

type Sent = { kinds: string[]; sequences: number[]; answer(refused?: Record<string, ErrorCode>): void };

function openReporter() {
  const sent: Sent[] = [];
  let nowMs = 1_000;
  const reporter = new Reporter({
    send: (body) => {
      const { operations } = JSON.parse(body) as {
        operations: { kind: string; run_id: string; sequence: number }[];
      };
      const { promise, resolve } = Promise.withResolvers<ReportResponse>();
      // By kind, the code with which it is refused.
      const answer: Sent["answer"] = (refused = {}) =>
        resolve({ results: operations.map(({ kind }) => resultOf(refused[kind])) });
      const kinds = operations.map(({ kind, run_id }) => `${kind} ${run_id}`);
      sent.push({ kinds, sequences: operations.map(({ sequence }) => sequence), answer });
      return promise;
    },
    timestamp: () => AT,
    monotonic: () => nowMs,
    random: () => 0,
    logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: never },
    signal: new AbortController().signal,
    onDelivered: () => undefined,
  });
  const open = (run: string, heard: Partial<ChannelListener> = {}) => {
    const listener: ChannelListener = {
      onLogsSent: () => undefined,
      ...{ onLost: never, onWorkspaceLost: never, onRefused: never },
      onClosed: () => undefined,
      ...heard,
    };
    const execution = { lease_id: `lease of ${run}`, epoch: 1, run: { id: run, environment_id: "env" } };
    return reporter.open(execution as Execution, listener);
  };
  const reports = async (count: number): Promise<string[][]> => {
    await until(`${count} reports to be sent`, 60_000, async () => sent.length >= count);
    return sent.map(({ kinds }) => kinds);
  };
  return { reporter, open, sent, reports, pass: (ms: number) => void (nowMs += ms) };
}

test("a start waits for the end of its run, also while other reports are under way", async () => {
  const { open, sent, reports } = openReporter();
  const [a, b, c] = [open("a"), open("b"), open("c")];
  a.start(AT);
  a.release(CANCELLED, AT);
  await reports(1);
  b.start(AT);
  c.start(AT);
  c.release(CANCELLED, AT);
  sent[0]?.answer();
  await reports(2);
  b.release(CANCELLED, AT);
  sent[1]?.answer();
  assert.deepEqual(await reports(3), [
    ["start a", "release a"],
    ["start c", "release c"],
    ["start b", "release b"],
  ]);
});

test("starts of runs that go on leave together after a moment, and no report after that holds them up", async () => {
  const { reporter, open, sent, reports, pass } = openReporter();
  const first = open("first");
  first.start(AT);
  first.release(CANCELLED, AT);
  await reports(1);
  for (const run of ["a", "b"]) open(run).start(AT);
  pass(25);
  // Of a later moment.
  open("c").start(AT);
  sent[0]?.answer();
  assert.deepEqual((await reports(2))[1], ["start a", "start b"]);
  const idle = reporter.idle();
  pass(25);
  sent[1]?.answer();
  assert.deepEqual((await reports(3))[2], ["start c"]);
  sent[2]?.answer();
  await idle;
  assert.equal(reporter.backlog(), 0);
});

test("a start alone leaves by itself, and is not idle before", async () => {
  const { reporter, open, sent, reports, pass } = openReporter();
  open("a").start(AT);
  const idle = reporter.idle();
  pass(25);
  assert.deepEqual(await reports(1), [["start a"]]);
  sent[0]?.answer();
  await idle;
});

const COMMAND: DurableCall = { kind: "execs", position: 1, name: "make", command: ["make"] };

test("a run whose command is refused with its workspace hands its lease back, after all that came before", async () => {
  const { open, sent, reports } = openReporter();
  const channel = open("a", { onWorkspaceLost: () => channel.release(REJECTED, AT) });
  channel.call(COMMAND, AT, never);
  channel.logs([{ stream: "stdout", bytes: Buffer.from("beside it"), at: AT }]);
  await reports(1);
  sent[0]?.answer({ execs: "lease_lost", logs: "invalid_state" });
  assert.deepEqual(await reports(2), [
    ["execs a", "logs a"],
    ["logs a", "release a"],
  ]);
  assert.deepEqual(sent[1]?.sequences, [1, 2]);
  sent[1]?.answer();
});

test("a run with two such commands hands its lease back as well", async () => {
  const { open, sent, reports } = openReporter();
  const channel = open("a", { onWorkspaceLost: () => channel.release(REJECTED, AT) });
  channel.call(COMMAND, AT, never);
  channel.call({ ...COMMAND, position: 2 }, AT, never);
  await reports(1);
  sent[0]?.answer({ execs: "lease_lost" });
  await reports(2);
  sent[1]?.answer({ execs: "lease_lost", release: "invalid_state" });
  assert.deepEqual(await reports(3), [["execs a", "execs a"], ["execs a", "release a"], ["release a"]]);
  assert.deepEqual(sent[2]?.sequences, [1]);
  sent[2]?.answer();
});

test("a run that has ended before its command is refused so is lost", async () => {
  const { reporter, open, sent, reports } = openReporter();
  let isLost = false;
  const channel = open("a", { onLost: () => void (isLost = true) });
  channel.call(COMMAND, AT, never);
  channel.release(CANCELLED, AT);
  await reports(1);
  sent[0]?.answer({ execs: "lease_lost", release: "invalid_state" });
  await reporter.idle();
  assert.deepEqual([isLost, channel.dropped, sent.length], [true, true, 1]);
});
