import assert from "node:assert/strict";
import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test, type TestContext } from "node:test";
import { startAgent, type RunningAgent } from "@keelson/agent";
import { Client } from "@keelson/sdk";
import { spawn } from "@lydell/node-pty";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { environmentOf } from "./support.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";
import { programArguments } from "../../server/test/support/programs.ts";

/** As a person has it: a terminal of the system, `keelson` in it, a server, and an agent that runs what is typed. */

let server: ApiServer;
let agent: RunningAgent;
let client: Client;
let dataDir: string;
before(async () => {
  server = await startApiServer();
  dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  await chmod(dataDir, 0o711);
  const quiet = (): void => undefined;
  agent = await startAgent({
    url: server.url,
    enrollmentToken: server.credentials.enrollment_token,
    name: "agent",
    capacity: 1,
    workspaces: 4,
    dataDir,
    version: "0.1.0-test",
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  client = new Client({ url: server.url, apiKey: server.credentials.api_key });
});
after(async () => {
  await agent?.stop();
  await server?.stop();
  await removeTestFolder(dataDir);
});

/**
 * What a shell starts: it says its own process id, becomes `keelson`, and after that says how the terminal was left. It ends
 * when it is told that all of that was seen.
 */
const SCRIPT = `sh -c 'echo pid=$$; exec "$@"' sh "$@"; echo "code=$?"; stty -a; echo over; read -r seen`;
const DEADLINE_MS = 60_000;

async function openTerminal(t: TestContext) {
  const { id } = await client.workspaces.create();
  const command = [process.execPath, ...programArguments("cli/src/main.ts"), "workspace", "shell", id];
  const terminal = spawn("/bin/sh", ["-c", SCRIPT, "sh", ...command], {
    cols: 100,
    rows: 30,
    cwd: tmpdir(),
    env: {
      ...environmentOf(server),
      ...{ ...bareEnvironment(), TERM: "xterm" },
    },
  });
  let screen = "";
  const waiting = new Set<() => void>();
  terminal.onData((shown) => {
    screen += shown;
    for (const look of waiting) look();
  });
  let isGone = false;
  const gone = new Promise<void>((resolve) => void terminal.onExit(() => resolve())).then(() => {
    isGone = true;
  });
  t.after(() => {
    if (!isGone) terminal.kill("SIGKILL");
  });
  const shows = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const fail = (): void => reject(new Error(`${pattern} was never shown: ${JSON.stringify(screen)}`));
      const deadline = setTimeout(fail, DEADLINE_MS);
      const look = (): void => {
        const match = pattern.exec(screen);
        if (match === null) return;
        waiting.delete(look);
        clearTimeout(deadline);
        resolve(match);
      };
      waiting.add(look);
      void gone.then(fail);
      look();
    });
  /** The exit code of `keelson`, and what the terminal is like after it. */
  const leave = async (): Promise<{ code: number; modes: string }> => {
    const [, code, modes = ""] = await shows(/code=([0-9]+)\r\n([^]*)over\r\n/);
    terminal.write("\r");
    await gone;
    return { code: Number(code), modes };
  };
  return { id, terminal, shows, leave, screen: () => screen };
}

const isGivenBack = (modes: string): void => {
  for (const mode of [/\sicanon/, /\secho\s/, /\sisig/, /\sopost/]) assert.match(modes, mode);
};

suite("a shell in a real terminal", () => {
  test("runs what is typed, follows the size, passes Ctrl-C, and ends with the program's code", async (t) => {
    const { id, terminal, shows, leave } = await openTerminal(t);
    await shows(/Leave with ~\./);
    terminal.write('stty size; echo "fir""st"\r');
    await shows(/30 100\r\nfirst/);
    terminal.resize(80, 20);
    terminal.write('until [ "$(stty size)" = "20 80" ]; do sleep 0.05; done; echo "res""ized"\r');
    await shows(/resized/);
    terminal.write(
      `sh -c 'trap "echo cau""ght; exit 5" INT; echo "wait""ing"; while :; do sleep 0.1; done'\r`,
    );
    await shows(/waiting/);
    terminal.write("\u0003");
    await shows(/caught/);
    terminal.write("echo made > by-hand\rexit 7\r");
    const left = await leave();
    assert.equal(left.code, 7);
    isGivenBack(left.modes);
    assert.equal(await client.workspaces.files.readText(id, "by-hand"), "made\n");
  });

  test("gives the terminal back to who leaves it, and after SIGTERM", async (t) => {
    for (const [how, code] of [
      ["~.", 0],
      ["SIGTERM", 130],
    ] as const) {
      const { id, terminal, shows, leave, screen } = await openTerminal(t);
      const [, pid] = await shows(/pid=([0-9]+)/);
      await shows(/Leave with ~\./);
      // On the other screen, without a cursor, as an editor would leave it.
      terminal.write('printf \'\\033[?1049h\\033[?25l\'; echo "in""side"\r');
      await shows(/inside/);
      if (how === "~.") terminal.write("\r~.");
      else process.kill(Number(pid), how);
      const left = await leave();
      assert.equal(left.code, code);
      isGivenBack(left.modes);
      const after = screen().slice(screen().indexOf("inside"));
      assert.ok(after.includes("\u001b[?1049l") && after.includes("\u001b[?25h"), JSON.stringify(after));
      const { items } = await client.workspaces.ptys.list(id).page();
      const [pty] = items;
      assert.ok(pty !== undefined);
      assert.equal((await client.workspaces.ptys.open(id, pty.id).wait()).status, "closed");
    }
  });
});
