// When one process is killed, or the terminal is closed, the others end in order or go on, and no change is lost.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import { spawn as spawnTerminal } from "@lydell/node-pty";
import { fewOf, newSeed } from "../../server/test/support/seeded-random.ts";
import { isAlive } from "../../server/src/embedded-postgres/postmaster-pid.ts";
import {
  allGone,
  changeWorkspace,
  clusterFile,
  kill,
  MAIN,
  makeUpSite,
  pidsOf,
  readPostmaster,
  readyClient,
  RUN,
  startUp,
  treeOf,
  until,
  type Running,
  type UpSite,
} from "./up-site.ts";

const WAIT_MS = 30_000;
const seed = newSeed();

suite("everything", { concurrency: false }, () => {
  let site: UpSite;
  before(async () => (site = await makeUpSite()));
  after(() => site?.[Symbol.asyncDispose]());

  /** What has to be there when everything runs again, as the next test finds. */
  let last: { id: string; text: string; isAdopted?: boolean } | null = null;
  async function hasLast({ client, said }: Pick<Running, "client" | "said">): Promise<void> {
    if (last === null) return;
    // What was adopted is committed when it stops.
    if (last.isAdopted === true) await client.workspaces.stop(last.id, { timeout: WAIT_MS });
    assert.equal(await client.workspaces.files.readText(last.id, "made"), last.text, said());
    last = null;
  }

  async function startChanged(text: string) {
    const running = await startUp(site);
    await hasLast(running);
    const known = treeOf(running.pids.outer);
    const id = await changeWorkspace(running.client, text);
    return { running, known: [...known, ...treeOf(running.pids.outer)], id };
  }

  async function endAll({ pids, said }: Running): Promise<void> {
    kill(pids.up, "SIGTERM");
    await allGone(site, [], said);
  }

  /** As the foreground job of a terminal. */
  async function startOnTerminal(command: string, args: readonly string[]) {
    const terminal = spawnTerminal(command, [...args], { cwd: site.folder, env: site.env });
    let output = "";
    terminal.onData((shown) => (output += shown));
    const said = (): string => output;
    const exited = new Promise<number>(
      (resolve) => void terminal.onExit(({ exitCode }) => resolve(exitCode)),
    );
    const client = await readyClient(site, said);
    await hasLast({ client, said });
    return { terminal, client, said, exited, known: treeOf(terminal.pid) };
  }

  for (const who of fewOf(["outer", "run"] as const, 2, seed))
    test(`ends in order when ${who === "outer" ? "npm" : "the starter"} dies`, async () => {
      const { running, known, id } = await startChanged(who);
      kill(running.pids[who], "SIGKILL");
      await allGone(site, known, running.said);
      last = { id, text: who };
    });

  test("ends when up dies: PostgreSQL cleanly, and the agent in one line, keeping what no version has", async () => {
    const { running, known, id } = await startChanged("up");
    kill(running.pids.up, "SIGKILL");
    await allGone(site, known, running.said);
    const lines = running.said().split("Ctrl-C stops everything.")[1]?.trim().split("\n") ?? [];
    assert.equal(lines.filter((line) => /server's process is gone/.test(line)).length, 1, running.said());
    assert.ok(lines.length <= 3, lines.join("\n"));
    await assert.rejects(readFile(clusterFile(site.dataDir, "postmaster.pid")), { code: "ENOENT" });
    last = { id, text: "up", isAdopted: true };
  });

  test("starts the agent again when it dies, and then PostgreSQL", async () => {
    const { running, id } = await startChanged("agent");
    const { client, pids, said } = running;
    kill(pids.agent, "SIGKILL");
    await until(() => /The agent ended \(SIGKILL\)/.test(said()), WAIT_MS, said);
    await client.workspaces.stop(id, { timeout: WAIT_MS });
    assert.equal(await client.workspaces.files.readText(id, "made"), "agent");

    last = { id: await changeWorkspace(client, "postmaster"), text: "postmaster" };
    kill(pids.postmaster, "SIGKILL");
    await until(() => /PostgreSQL had gone and is back/.test(said()), WAIT_MS, said);
    assert.ok(isAlive(await readPostmaster(site.dataDir)));
    await endAll(running);
  });

  for (const signal of fewOf(["SIGTERM", "SIGINT", "SIGQUIT"] as const, 3, seed))
    test(`ends in order on ${signal} to PostgreSQL, and says why`, async () => {
      const { running, known, id } = await startChanged(signal);
      kill(running.pids.postmaster, signal);
      await allGone(site, known, running.said);
      assert.match(running.said(), /PostgreSQL \(process \d+\) was told to stop/);
      assert.equal((await running.exited).code, 0);
      last = { id, text: signal };
    });

  test("ends in order when its terminal is closed", async () => {
    // The shell of a terminal: everything is its foreground job.
    const shell = ["-c", `"$@"; exit $?`, "sh", process.execPath, RUN, MAIN, "up"];
    const { terminal, client, said, known } = await startOnTerminal("/bin/sh", shell);
    const id = await changeWorkspace(client, "terminal");
    // Closes it: what is written from now on fails.
    (terminal as unknown as { destroy(): void }).destroy();
    await allGone(site, known, said);
    last = { id, text: "terminal" };
  });

  test("ends with one Ctrl-C, which reaches the starter and up", async () => {
    const { terminal, client, said, exited, known } = await startOnTerminal(process.execPath, [
      RUN,
      MAIN,
      "up",
    ]);
    const id = await changeWorkspace(client, "typed");
    terminal.write("\u0003");
    assert.equal(await exited, 0, said());
    await allGone(site, known, said);
    last = { id, text: "typed" };
  });

  test("is not waited for any more after a second Ctrl-C, and what is left ends by itself", async () => {
    const { terminal, said, exited, known } = await startOnTerminal(process.execPath, [RUN, MAIN, "up"]);
    const { agent } = await pidsOf(site, terminal.pid);
    // An agent that does not answer would be waited for.
    kill(agent, "SIGSTOP");
    terminal.write("\u0003");
    await until(() => /Still stopping the agent/.test(said()), WAIT_MS, said);
    terminal.write("\u0003");
    assert.equal(await exited, 130, said());
    kill(agent, "SIGCONT");
    await allGone(site, known, said);
  });
});
