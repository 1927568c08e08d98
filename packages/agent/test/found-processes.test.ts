import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { findProcess, listChildren, listProcesses } from "../src/sandboxes/find-processes.ts";

const isLinux = process.platform === "linux";

test(
  "the children of a process are those that every process names as its parent",
  { skip: !isLinux },
  async () => {
    const script = "sleep 60 & sleep 60 & echo $!; read line; kill %1 %2; wait; echo none; read line";
    const shell = spawn("bash", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] });
    const ended = once(shell, "close");
    const pid = shell.pid as number;
    try {
      const [printed] = (await once(shell.stdout, "data")) as [Buffer];
      const children = listChildren(pid);
      assert.deepEqual(
        children,
        listProcesses().filter(({ ppid }) => ppid === pid),
      );
      assert.equal(children.length, 2);
      assert.equal(findProcess(Number(printed.toString()))?.ppid, pid);
      shell.stdin.write("\n");
      await once(shell.stdout, "data");
      assert.deepEqual(listChildren(pid), []);
    } finally {
      shell.stdin.end();
      await ended;
    }
    assert.deepEqual([listChildren(pid), findProcess(pid)], [[], null]);
  },
);
