import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, suite, test } from "node:test";
import { EXAMPLE_IDS, type Session, type SessionState, type StreamRecord } from "@keelson/contract";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";
import { until } from "../../server/test/support/until.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { cancelSessions } from "../../server/test/support/session-scene.ts";
import { createFolder, environmentOf, keelson, spawnKeelson, type Outcome } from "./support.ts";

const CHAT = {
  id: "chat",
  description: "Talks",
  retry: { max_attempts: 1 },
  session_on_failure: "keep_open",
};

let scene: RunScene;
let env: Record<string, string>;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "review" }], actors: [CHAT] });
  env = environmentOf(scene.server);
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

/** Runs `keelson session …`, which must do what it was asked to. */
async function session(args: readonly string[], input = ""): Promise<Outcome> {
  const outcome = await keelson(["session", ...args], { env, input });
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome;
}

const append = (id: string, ...records: unknown[]): Promise<unknown> =>
  scene.call("POST", `/api/sessions/${id}/outputs/output`, {
    body: { records: records.map((data) => ({ data, correlation_id: "q-1" })) },
  });

suite("sessions on the command line", () => {
  test("an actor is listed and started, and its session found by id and external id", async () => {
    assert.match((await keelson(["actor", "list"], { env })).stdout, /^ACTOR.*\nchat +Talks\n$/);
    const start = ["actor", "start", "chat", "-", "--external-id", "ticket-1", "--tag", "first"];
    const started = await keelson(start, { env, input: `{"text": "Hello"}` });
    assert.match(started.stdout, /^sess_[0-9a-z]{26}\n$/, started.stderr);
    assert.match(started.stderr, /^Started run_/);
    const id = started.stdout.trim();
    for (const args of [[id], ["-x", "ticket-1"]]) {
      const shown = JSON.parse((await session(["get", ...args, "--json"])).stdout) as Session;
      assert.deepEqual([shown.id, shown.external_id], [id, "ticket-1"]);
    }
    const shown = await session(["get", id]);
    assert.match(
      shown.stdout,
      /external id +ticket-1\nactor +chat\nstatus +open\n[\s\S]*run +run_\w+ \(turn 1\)/,
    );
    const listed = await session(["list", "--actor", "chat", "--status", "open"]);
    assert.match(listed.stdout, new RegExp(`${id} +chat +open +queued +ticket-1 `));
    const unnamed = await keelson(["session", "get", "ticket-1"], { env });
    assert.equal(unnamed.code, 4);
    assert.match(unnamed.stderr, /no session with the id "ticket-1".*add -x/);
  });

  test("the state of a session is shown, and set by its version", async () => {
    const id = (await session(["start", "--actor", "chat", "--external-id", "ticket-2"])).stdout.trim();
    assert.match(
      (await session(["state", id])).stdout,
      new RegExp(`session +${id}\\nversion +0\\nstate +\\(never set\\)\\n`),
    );
    const set = await session(["state", id, "--set", '{"a_key": [1, null]}', "--if-version", "0"]);
    assert.match(set.stdout, /version +1\nupdated +\d{4}-\S+\nby +key_\w+\nstate +\{"a_key":\[1,null\]\}\n$/);
    const late = ["session", "state", id, "--set", "2", "--if-version", "0"];
    const refused = await keelson(late, { env });
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /has version 1, not version 0/);
    await using folder = await createFolder();
    const file = join(folder.path, "state.json");
    await writeFile(file, '"from a file"');
    await session(["state", "-x", "ticket-2", "--set-file", file]);
    await session(["state", id, "-", "--idempotency-key", "k"], '"from a pipe"');
    await session(["state", id, "-", "--idempotency-key", "k"], '"from a pipe"');
    const shown = JSON.parse((await session(["state", id, "--json"])).stdout) as SessionState;
    assert.deepEqual([shown.session_id, shown.state, shown.version], [id, "from a pipe", 3]);
    for (const args of [
      ["--if-version", "1"],
      ["--set", "{"],
      ["--set", "1", "-"],
      ["--if-version", "-1"],
    ]) {
      const wrong = await keelson(["session", "state", id, ...args], { env });
      assert.equal(wrong.code, 2, wrong.stderr);
    }
  });

  test("a session whose turn failed says why", async () => {
    const id = (await session(["start", "--actor", "chat"])).stdout.trim();
    const lease = await scene.worker.takeOne();
    const failure = { kind: "application_error", message: "no model", retryable: false };
    await scene.worker.finish(lease, "failed", { failure });
    await until("the session says why", 10_000, async () =>
      (await session(["get", id])).stdout.includes("last failure"),
    );
    const { stdout } = await session(["get", id]);
    assert.match(stdout, new RegExp(`last failure +application_error: no model \\(${lease.runId}\\)`));
    const shown = JSON.parse((await session(["get", id, "--json"])).stdout) as Session;
    assert.equal(shown.last_failure?.run_id, lease.runId);
  });

  test("a session of a task is started, and its run waited for", async () => {
    const waiting = session(["start", "--task", "review", "--payload", "[1]", "--wait", "--tag", "x"]);
    await scene.worker.finish(await scene.worker.takeOne(), "succeeded", { output: { ok: 1 } });
    const { stdout, stderr } = await waiting;
    assert.equal(stdout, `{\n  "ok": 1\n}\n`);
    assert.match(stderr, /^Started sess_\w+, run_\w+\nrun_\w+ succeeded/);
    const made = await session(["start", "--actor", "chat", "--input", `"hi"`, "--json"]);
    assert.partialDeepStrictEqual(JSON.parse(made.stdout), { actor: "chat", status: "open" });
  });

  test("what is sent as text, JSON, a file or from a pipe is read back", async () => {
    await using folder = await createFolder();
    const file = join(folder.path, "message.json");
    await writeFile(file, `{"n": 3}`);
    const id = (await session(["start", "--actor", "chat"])).stdout.trim();
    assert.equal((await session(["send", id, "--text", "one"])).stdout, "1\n");
    assert.equal(
      (await session(["send", id, "--data", `{"n": 2}`, "--correlation-id", "q-1"])).stdout,
      "2\n",
    );
    await session(["send", id, "--file", file, "--idempotency-key", "k"]);
    assert.equal((await session(["send", id, "--file", file, "--idempotency-key", "k"])).stdout, "3\n");
    await session(["send", id, "--file", "-"], "[4]");
    const sent = await session(["send", id, "-", "--stream", "control", "--json"], "null");
    assert.partialDeepStrictEqual(JSON.parse(sent.stdout), { stream: "control", sequence: 1, data: null });
    assert.equal((await session(["read", id, "--input"])).stdout, `one\n{"n":2}\n{"n":3}\n[4]\n`);
    assert.equal((await session(["read", id, "--input", "--cursor", "3"])).stdout, `[4]\n`);
    const [line] = (await session(["read", id, "--input", "--correlation-id", "q-1", "--json"])).stdout.split(
      "\n",
    );
    assert.partialDeepStrictEqual(JSON.parse(line ?? ""), { sequence: 2, source: { kind: "api" } });
  });

  test("input that no run has received is withdrawn, and input to a busy session refused", async () => {
    const id = (await session(["start", "--actor", "chat", "--input", `"first"`])).stdout.trim();
    await session(["send", id, "--text", "second"]);
    await session(["send", id, "--text", "note", "--stream", "notes"]);
    assert.equal((await session(["withdraw", id, "1"])).stdout, "Withdrew record 1 of stream input\n");
    const shown = await session(["withdraw", id, "1", "--stream", "notes", "--json"]);
    const record = JSON.parse(shown.stdout) as StreamRecord;
    assert.deepEqual([record.data, typeof record.withdrawn_at], [null, "string"]);
    const read = await session(["read", id, "--input"]);
    assert.deepEqual([read.stdout, read.stderr], ["second\n", "(record 1 was withdrawn)\n"]);
    const busy = await keelson(["session", "send", id, "--text", "x", "--while-busy", "reject"], { env });
    assert.equal(busy.code, 5, busy.stderr);
    assert.match(busy.stderr, /is live, and no run waits/);
    const odd = await keelson(["session", "withdraw", id, "first"], { env });
    assert.equal(odd.code, 2);
    assert.match(odd.stderr, /"first" is not the sequence of a record/);
  });

  test("texts that are pieces of one message are one line, and each a record with --json", async () => {
    const id = (await session(["start", "--actor", "chat"])).stdout.trim();
    const lease = await scene.worker.takeOne();
    const said = (message: string | null, ...data: unknown[]) =>
      lease.operation("outputs", {
        ...{ position: null, stream: "output", records: data.map((one) => ({ data: one })) },
        ...(message !== null && { message_id: message }),
      });
    const [one, two] = [EXAMPLE_IDS.msg, EXAMPLE_IDS.msg.replace(/.$/, "f")] as [string, string];
    const operations = [
      lease.operation("start"),
      ...[said(one, "Hel"), said(one, "lo"), said(two, "Good "), said(one, "!"), said(two, "day", { n: 1 })],
      ...[said(null, "by itself"), said(two, "end")],
    ];
    assert.deepEqual(
      await scene.worker.report(...operations),
      operations.map(() => 200),
    );
    const refused = { operations: [said("msg_no", "x")] };
    assert.equal((await scene.worker.call("POST", "/executions/report", refused)).status, 400);
    const lines = ["Hello", "Good ", "!", "day", '{"n":1}', "by itself", "end", ""];
    assert.equal((await session(["read", id])).stdout, lines.join("\n"));
    const records = (await session(["read", id, "--json"])).stdout.trim().split("\n");
    assert.deepEqual(
      records.map((line) => (JSON.parse(line) as StreamRecord).message_id),
      [one, one, two, one, two, two, null, two],
    );
  });

  test("what models used is shown by run and session", async () => {
    const id = (await session(["start", "--actor", "chat"])).stdout.trim();
    const lease = await scene.worker.takeOne();
    const none = await session(["usage", id]);
    assert.deepEqual([none.stdout, /ctx\.usage\.add/.test(none.stderr)], ["", true]);
    const used = [
      { model: "large", input_tokens: 1200, cached_input_tokens: 1000, output_tokens: 70, cost_usd: 0.00351 },
      { model: "small", calls: 3 },
    ];
    const operations = [lease.operation("start"), lease.operation("usage", { used })];
    assert.deepEqual(await scene.worker.report(...operations), [200, 200]);
    const shown = await session(["usage", id]);
    assert.equal(
      shown.stdout.replaceAll(/ +/g, " "),
      [
        "MODEL CALLS INPUT CACHED OUTPUT REASONING COST",
        "small 3 0 0 0 0",
        "large 1 1200 1000 70 0 $0.00351",
        "(all) 4 1200 1000 70 0 $0.00351",
        "",
      ].join("\n"),
    );
    const ofRun = await keelson(["run", "usage", lease.runId, "--json"], { env });
    assert.partialDeepStrictEqual(JSON.parse(ofRun.stdout), { calls: 4, cost_usd: 0.00351 });
  });

  test("a chat of the AI SDK is read as what is said in it", async () => {
    const id = (await session(["start", "--actor", "chat"])).stdout.trim();
    const lease = await scene.worker.takeOne();
    const said = (message: string, ...data: unknown[]) =>
      lease.operation("outputs", {
        ...{ position: null, stream: "output", records: data.map((one) => ({ data: one })) },
        message_id: EXAMPLE_IDS.msg.replace(/.$/, message),
      });
    const call = { toolCallId: "call-1" };
    const words = (...deltas: string[]) => [
      { type: "text-start", id: "0" },
      ...deltas.map((delta) => ({ type: "text-delta", id: "0", delta })),
      { type: "text-end", id: "0" },
    ];
    const question = { id: "q", role: "user", parts: [{ type: "text", text: "Is it\nup?" }] };
    const operations = [
      lease.operation("start"),
      said("j", question),
      said("k", { type: "start-step" }, { type: "reasoning-delta", id: "1", delta: "Hm." }),
      said("k", ...words("I ", "look."), ...words("Now.")),
      said("k", { type: "tool-input-available", ...call, toolName: "ping", input: { host: "a" } }),
      said("k", { type: "tool-approval-request", ...call, approvalId: EXAMPLE_IDS.tok }),
      said("k", { type: "tool-output-available", ...call, output: { up: true } }),
      // Not as the AI SDK has it, so nothing of it may go unseen.
      said("k", { type: "start", job: 7 }, { type: "data-chart", data: [1] }, ...words("It is.")),
    ];
    assert.deepEqual(
      await scene.worker.report(...operations),
      operations.map(() => 200),
    );
    await session(["send", id, "--data", JSON.stringify({ message: question, steer: true })]);
    await session(["send", id, "--data", JSON.stringify({ message: question, more: 1 })]);
    const sent = (await session(["read", id, "--input"])).stdout.split("\n");
    assert.deepEqual([sent.slice(0, 2), sent[2]?.startsWith('{"message":')], [["> Is it", "> up?"], true]);
    const read = await session(["read", id]);
    const shown = [
      ...["> Is it", "> up?", "I look.", "Now.", '[ping] {"host":"a"}', '[ping] gave {"up":true}'],
      ...['{"type":"start","job":7}', '{"type":"data-chart","data":[1]}', "It is.", ""],
    ];
    assert.equal(read.stdout, shown.join("\n"));
    const how = `keelson token complete ${EXAMPLE_IDS.tok} --data '{"approved":true}'`;
    assert.equal(read.stderr, `(ping waits for approval: ${how})\n`);
    assert.equal((await session(["read", id, "--json"])).stdout.trim().split("\n").length, 18);
  });

  test("a message that has no good end says so", async () => {
    const id = (await session(["start", "--actor", "chat"])).stdout.trim();
    const lease = await scene.worker.takeOne();
    const piece = {
      ...{ position: null, stream: "output", records: [{ data: "half" }] },
      message: { id: EXAMPLE_IDS.msg.replace(/.$/, "g"), begins: true },
    };
    const begun = [lease.operation("start"), lease.operation("outputs", piece)];
    assert.deepEqual(await scene.worker.report(...begun), [200, 200]);
    const reading = session(["read", id, "--follow"]);
    await session(["cancel", id]);
    await scene.worker.report(lease.operation("release", { outcome: "cancelled" }));
    const { stdout, stderr } = await reading;
    assert.equal(stdout, "half\n");
    assert.match(stderr, /\(the message was interrupted\)/);
  });

  test("a message that is written again from an earlier place says so", async () => {
    const id = (await session(["start", "--actor", "chat"])).stdout.trim();
    const lease = await scene.worker.takeOne();
    const message = EXAMPLE_IDS.msg.replace(/.$/, "h");
    const output = (fields: object, data: unknown[], position: number | null = null): object =>
      lease.operation("outputs", {
        ...{ position, stream: "output", message: { id: message, ...fields } },
        records: data.map((one) => ({ data: one })),
      });
    const report = [
      lease.operation("start"),
      output({ begins: true, spans: true }, [], 1),
      output({ part: "say:1" }, ["half"]),
      output({ voids: "say" }, []),
      output({ part: "say:1" }, ["all ", "of it"]),
      output({ ends: "complete" }, [], 2),
    ];
    assert.deepEqual(new Set(await scene.worker.report(...report)), new Set([200]));
    const { stdout, stderr } = await session(["read", id]);
    assert.equal(stdout, "half\nall of it\n");
    assert.equal(stderr.trim(), "(the message is written again from an earlier place)");
    await session(["cancel", id]);
    await scene.worker.report(lease.operation("release", { outcome: "cancelled" }));
  });

  test("a followed output is written as it comes, until the session has ended", async () => {
    const id = (await session(["start", "--actor", "chat", "--external-id", "followed"])).stdout.trim();
    await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
      index === 1 ? { events: 1 } : "pass",
    );
    const read = ["session", "read", "-x", "followed", "--follow", "--json"];
    const following = keelson(read, { env: { ...env, KEELSON_URL: proxy.url } });
    await append(id, "a", "b");
    await append(id, "c");
    assert.match((await session(["cancel", id])).stdout, new RegExp(`^${id} cancelled \\(chat\\)`));
    const { code, stdout } = await following;
    const records = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as StreamRecord);
    assert.deepEqual([code, records.map(({ data }) => data)], [0, ["a", "b", "c"]]);
  });

  test("reading for too long is exit code 124, Ctrl-C 130, and input to an ended session 5", async () => {
    const id = (await session(["start", "--actor", "chat"])).stdout.trim();
    const late = await keelson(["session", "read", id, "-f", "--timeout", "100ms"], { env });
    assert.match(late.stderr, /has not ended within 100 ms/);
    assert.equal(late.code, 124);
    await append(id, "said");
    const { code, stdout } = await spawnKeelson(["session", "read", id, "-f"], {
      env,
      onSpawn: (child) => void child.stdout?.once("data", () => child.kill("SIGINT")),
    });
    assert.deepEqual([code, stdout], [130, "said\n"]);
    const closed = await session(["close", id, "--reason", "solved"]);
    assert.equal(closed.stdout, `${id} closed (chat): solved\n`);
    const refused = await keelson(["session", "send", id, "--text", "more"], { env });
    assert.match(refused.stderr, /\(session_closed, request /);
    assert.equal(refused.code, 5);
  });
});
