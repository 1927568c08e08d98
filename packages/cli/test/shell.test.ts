import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Client } from "@keelson/sdk";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { driveProcess } from "../../server/test/support/driven-process.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../server/test/support/workspace-worker.ts";
import { interruption } from "../src/exit-codes.ts";
import { environmentOf, keelson } from "./support.ts";
import { atTerminal } from "./terminal-host.ts";

let server: ApiServer;
let worker: WorkspaceWorker;
let client: Client;
let env: Record<string, string>;
before(async () => {
  server = await startApiServer();
  worker = await startWorkspaceWorker(server);
  client = new Client({ url: server.url, apiKey: server.credentials.api_key });
  env = environmentOf(server);
});
after(() => server.stop());

async function open(args: readonly string[] = [], url = server.url) {
  const { id } = await client.workspaces.create();
  const terminal = atTerminal(["workspace", "shell", id, ...args], { ...env, KEELSON_URL: url });
  return { terminal, driven: await driveProcess(worker) };
}

suite("a shell in a workspace", () => {
  test("shows what its program writes, sends every key, follows the size, and exits with its code", async () => {
    const { terminal, driven } = await open(["--cwd", "src", "--", "bash", "-l"]);
    assert.partialDeepStrictEqual(driven.start, {
      kind: "pty",
      command: ["bash", "-l"],
      cwd: "src",
      cols: 100,
      rows: 30,
      env: { TERM: "xterm-test" },
    });
    await terminal.shows(/Opened pty_\w+\. Leave with ~\. at the start of a line\./);
    await driven.write("output", "$ ");
    await terminal.shows(/\$ /);
    assert.ok(terminal.isRaw());
    terminal.type("ls ~.\r\u0003");
    terminal.resize(50, 20);
    await driven.until(({ input, controls }) => input.length === 7 && controls.length === 1);
    assert.equal(driven.received.input, "ls ~.\r\u0003");
    assert.partialDeepStrictEqual(driven.received.controls[0], { kind: "resize", cols: 50, rows: 20 });
    await driven.write("output", "\u001b[?1049h\u001b[?25lbye");
    await driven.end({ outcome: "exited", exit_code: 3 });
    assert.equal(await terminal.ended, 3);
    assert.equal(terminal.isRaw(), false);
    assert.equal(terminal.screen(), "$ \u001b[?1049h\u001b[?25lbye\u001b[?1049l\u001b[?25h\u001b[0m");
    await driven.release();
  });

  test("is left by ~. and then hung up", async () => {
    const { terminal, driven } = await open();
    assert.equal(driven.start.command, null);
    await driven.write("output", "$ ");
    await terminal.shows(/\$ /);
    terminal.type("~");
    terminal.type(".");
    await driven.until(({ controls }) => controls.length === 1);
    assert.equal(driven.received.controls[0].kind, "close");
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.notices(), /Left pty_/);
    assert.deepEqual([terminal.isRaw(), driven.received.input], [false, ""]);
    await driven.end({ outcome: "closed" });
    await driven.release();
  });

  test("comes back after lost connections: no byte is lost or repeated either way", async () => {
    let outputs = 0;
    let inputs = 0;
    await using proxy = await startFaultProxy(server.url, ({ path }) => {
      if (path.includes("/output")) {
        outputs += 1;
        return outputs === 1 ? { events: 2 } : outputs <= 3 ? "cut before" : "pass";
      }
      if (path.endsWith("/input")) inputs += 1;
      return path.endsWith("/input") && inputs === 1 ? "cut after" : "pass";
    });
    const { terminal, driven } = await open([], proxy.url);
    const lines = Array.from({ length: 10 }, (_, i) => `${i};`);
    for (const line of lines) await driven.write("output", line);
    terminal.type("a");
    terminal.type("b");
    await driven.until(({ input }) => input.length >= 2);
    await terminal.shows(/9;/);
    await driven.end();
    assert.equal(await terminal.ended, 0);
    assert.equal(terminal.screen(), `${lines.join("")}\u001b[0m`);
    assert.equal(driven.received.input, "ab");
    assert.match(terminal.notices(), /connection lost, trying again; ~\. leaves[^]*connected again/);
    await driven.release();
  });

  test("gives the terminal back when it is interrupted or refused", async () => {
    const { terminal, driven } = await open();
    await driven.write("output", "$ ");
    await terminal.shows(/\$ /);
    terminal.interrupt(interruption("SIGTERM"));
    await driven.until(({ controls }) => controls.length === 1);
    assert.equal(await terminal.ended, 130);
    assert.equal(terminal.isRaw(), false);
    await driven.end({ outcome: "closed" });
    await driven.release();

    const { id } = await client.workspaces.create();
    await client.workspaces.delete(id);
    const refused = atTerminal(["workspace", "shell", id], env);
    assert.notEqual(await refused.ended, 0);
    assert.equal(refused.isRaw(), false);
  });

  test("says when it was lost with its machine", async () => {
    const { terminal, driven } = await open();
    await driven.end({ outcome: "lost", error: { message: "the machine is gone" } });
    assert.equal(await terminal.ended, 7);
    assert.match(terminal.notices(), /pty_\w+ lost: the machine is gone/);
    await driven.release();
  });

  test("is refused without a terminal", async () => {
    const { code, stderr } = await keelson(["workspace", "shell", "ws_1"], { env });
    assert.equal(code, 2);
    assert.match(
      stderr,
      /A shell needs a terminal on standard input and output; `keelson workspace exec` needs none/,
    );
  });
});
