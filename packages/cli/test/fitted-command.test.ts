import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import type { Command } from "commander";
import { fitText } from "../src/fitted-command.ts";
import { createProgram } from "../src/program.ts";

test("paragraphs are wrapped, lists are continued below their meaning, commands stay one line", () => {
  const text = [
    "",
    "One sentence of many words.",
    "Another one. It has these parts:",
    "  first   words that go on and on",
    "  $ keelson a command that is longer than that",
    "",
    "The end.",
    "",
  ].join("\n");
  assert.equal(
    fitText(text, 24),
    [
      "",
      "One sentence of many",
      "words. Another one. It",
      "has these parts:",
      "  first   words that go",
      "          on and on",
      "  $ keelson a command that is longer than that",
      "",
      "The end.",
      "",
    ].join("\n"),
  );
});

test("the help of every command fits 80 columns", async () => {
  const wide: string[] = [];
  let help = "";
  const stdout = new PassThrough();
  stdout.on("data", (bytes: Buffer) => (help += bytes.toString()));
  const { program } = await createProgram(
    {
      env: {},
      cwd: "/",
      stdin: new PassThrough() as unknown as NodeJS.ReadStream,
      stdout: stdout as unknown as NodeJS.WriteStream,
      stderr: new PassThrough() as unknown as NodeJS.WriteStream,
      signal: new AbortController().signal,
      endInOrder: () => undefined,
    },
    [],
  );
  program.configureOutput({ getOutHelpWidth: () => 80 });
  const visit = (command: Command): void => {
    help = "";
    command.outputHelp();
    const lines = help.split("\n").filter((line) => line.length > 80 && !line.startsWith("  $ "));
    wide.push(...lines.map((line) => `${command.name()}: ${line}`));
    command.commands.forEach(visit);
  };
  visit(program);
  assert.deepEqual(wide, []);
});
