import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const onLinux = process.platform === "linux" ? false : "only Linux shows the priority of each thread";

// In a process of its own, as a priority cannot be raised again. The first read starts the threads that compress.
const PROGRAM = `
  import { readdirSync, readFileSync } from "node:fs";
  import { stat } from "node:fs/promises";
  import { lowerPriority } from ${JSON.stringify(new URL("../src/lower-priority.ts", import.meta.url).href)};
  const read = () => readdirSync("/proc/self/task").map((thread) => {
    const text = readFileSync(\`/proc/self/task/\${thread}/stat\`, "latin1");
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[16]);
  });
  await stat("/");
  const before = read();
  lowerPriority();
  console.log(JSON.stringify({ before, after: read() }));
`;

test("every thread gets the processor time that others leave", { skip: onLinux }, () => {
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", PROGRAM], { encoding: "utf8" });
  const { before, after } = JSON.parse(said) as Record<"before" | "after", number[]>;
  assert.ok(before.length > 4 && before.every((nice) => nice < 10), said);
  assert.ok(after.length >= before.length && after.every((nice) => nice === 10), said);
});
