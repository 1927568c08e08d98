// What is typed goes to the poll that waits, as it was stored; and nothing of it is lost, doubled or out of its order when
// the poll, its answer or its server is gone.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { openPoll as startPoll } from "../../support/open-poll.ts";
import { recordQueries, type RecordedQuery } from "../../support/record-queries.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../support/workspace-worker.ts";
import { workspaceCalls } from "../../support/workspaces.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;
type Known = { process_id: string; input_offset: number; input_closed: boolean; control_sequence: number };

/** By which a poll finds what was sent to processes. */
const LOOK = /AS closes_input/;

describe("what is typed into a terminal of a live workspace", () => {
  let server: ApiServer;
  let worker: WorkspaceWorker;
  let workspace: string;
  let leased: Json;
  let pty: string;
  before(async () => {
    server = await startApiServer();
    worker = await startWorkspaceWorker(server);
  });
  after(() => server.stop());
  beforeEach(async () => {
    ({ id: workspace } = await workspaceCalls(server).create());
    await server.call("POST", `/api/workspaces/${workspace}/materialize`, { body: {} });
    leased = await worker.take();
    assert.equal((await worker.live(leased)).status, 200);
    const opened = await server.call("POST", `/api/workspaces/${workspace}/pty`, { body: {} });
    pty = opened.body.id;
    const fields = { ...worker.fields(leased), process_id: pty };
    assert.equal((await worker.call("/workspaces/processes/started", fields)).status, 200);
    // What woke the worker so far is looked at.
    await worker.poll({ held: held(knows(0)) });
  });
  afterEach(async () => {
    await server.call("DELETE", `/api/workspaces/${workspace}`);
    await worker.stopped(leased);
  });

  const knows = (input_offset: number, control_sequence = 0): Known => ({
    ...{ process_id: pty, input_offset, input_closed: false, control_sequence },
  });
  const held = (known: Known): Json[] => [{ ...worker.fields(leased), stopping: false, processes: [known] }];
  const type = (text: string, offset?: number, at: Pick<ApiServer, "call"> = server): Promise<Answer> =>
    at.call("POST", `/api/workspaces/${workspace}/pty/${pty}/input`, {
      body: { data: Buffer.from(text).toString("base64"), ...(offset === undefined ? {} : { offset }) },
    });
  const send = (word: string, body?: object): Promise<Answer> =>
    server.call(
      "POST",
      `/api/workspaces/${workspace}/pty/${pty}/${word}`,
      body === undefined ? {} : { body },
    );
  const inputsOf = ({ inputs }: Json): [number, string][] =>
    inputs.map(({ offset, data }: Json) => [offset, Buffer.from(data, "base64").toString()]);
  const texts = (queries: readonly RecordedQuery[], pattern: RegExp): string[] =>
    queries.map(({ text }) => text).filter((text) => pattern.test(text));

  /** A poll that has looked and waits. */
  const openPoll = (known: Known): Promise<{ answer: Promise<Json> }> =>
    startPoll(() => worker.poll({ held: held(known), wait: "20s", begins_given: true }), LOOK);

  test("is stored by one statement, and given to the poll that waits without a look", async () => {
    const poll = await openPoll(knows(0));
    const queries = await recordQueries(async () => {
      assert.deepEqual((await type("key")).body, { offset: 3 });
      assert.deepEqual(inputsOf(await poll.answer), [[0, "key"]]);
    });
    const [insert, ...more] = queries.filter(({ text }) => text.includes("INSERT INTO process_inputs"));
    assert.ok(insert !== undefined && more.length === 0);
    // The server's loops have transactions too, on connections of their own.
    const beside = queries.filter(({ connection }) => connection === insert.connection);
    assert.deepEqual([...texts(queries, LOOK), ...texts(beside, /^\s*(BEGIN|COMMIT)/)], []);
  });

  test("is given again when the answer of the poll was lost, and kept until the worker says that it has it", async () => {
    const poll = await openPoll(knows(0));
    await type("one");
    await poll.answer;
    assert.deepEqual(inputsOf(await worker.poll({ held: held(knows(0)) })), [[0, "one"]]);
    await type("two");
    assert.deepEqual(inputsOf(await worker.poll({ held: held(knows(0)) })), [[0, "onetwo"]]);
    assert.deepEqual(inputsOf(await worker.poll({ held: held(knows(3)) })), [[3, "two"]]);
    assert.deepEqual(inputsOf(await worker.poll({ held: held(knows(6)) })), []);
  });

  test("goes through polls that follow one another whole and in its order", async () => {
    const all = "what somebody types without a pause, letter by letter";
    const typing = (async () => {
      for (const letter of all) assert.equal((await type(letter)).status, 200);
    })();
    let received = "";
    while (received.length < all.length) {
      const answer = await worker.poll({
        held: held(knows(received.length)),
        wait: "20s",
        begins_given: true,
      });
      for (const [offset, text] of inputsOf(answer)) {
        assert.ok(offset <= received.length, `a gap before ${offset}`);
        received += text.slice(received.length - offset);
      }
    }
    await typing;
    assert.equal(received, all);
  });

  test("comes after the size that the terminal was given before", async () => {
    await send("resize", { cols: 99, rows: 33 });
    // As a worker polls that was answered before the terminal was resized.
    const poll = worker.poll({ held: held(knows(0)), wait: "20s", begins_given: true });
    await type("x");
    const { controls, inputs } = await poll;
    assert.deepEqual(
      controls.map(({ kind, cols }: Json) => [kind, cols]),
      [["resize", 99]],
    );
    if (inputs.length === 0)
      assert.deepEqual(inputsOf(await worker.poll({ held: held(knows(0, 1)), wait: "20s" })), [[0, "x"]]);
  });

  test("is refused once its close was taken, and nothing of it is given", async () => {
    const poll = await openPoll(knows(0));
    assert.equal((await send("close")).status, 200);
    const refused = await type("late");
    assert.deepEqual([refused.status, refused.body.error.code], [409, "invalid_state"]);
    const { controls, inputs } = await poll.answer;
    assert.deepEqual([controls.map(({ kind }: Json) => kind), inputs], [["close"], []]);
  });

  test("is taken once at an offset, whoever else types there", async () => {
    const poll = await openPoll(knows(0));
    const answers = await Promise.all(["a", "b", "c", "d"].map((letter) => type(letter, 0)));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 409, 409, 409],
    );
    const taken = "abcd"[answers.findIndex(({ status }) => status === 200)] as string;
    assert.deepEqual(inputsOf(await poll.answer), [[0, taken]]);
    assert.deepEqual((await type("e", 1)).body, { offset: 2 });
  });

  test("is not given to a worker that has lost the workspace", async () => {
    const poll = await openPoll(knows(0));
    const failed = await worker.call("/workspaces/failed", {
      ...worker.fields(leased),
      error: { message: "x" },
    });
    assert.equal(failed.status, 200);
    assert.equal((await type("x")).status, 409);
    const { inputs, lost } = await poll.answer;
    assert.deepEqual([inputs, lost], [[], [leased.materialization_id]]);
  });

  test("reaches a poll that waits at another server", async () => {
    const replica = await server.startReplica();
    try {
      const poll = await openPoll(knows(0));
      assert.equal((await type("far", undefined, replica)).status, 200);
      assert.deepEqual(inputsOf(await poll.answer), [[0, "far"]]);
    } finally {
      await replica.stop();
    }
  });
});
