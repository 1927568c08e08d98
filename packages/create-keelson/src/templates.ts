/** The texts of a project's first files. */

export const configText = (
  project: string,
  taskPattern: string,
): string => `import { defineConfig } from "@keelson/sdk";

export default defineConfig({
  project: ${JSON.stringify(project)},
  // The files that declare tasks and actors.
  tasks: [${JSON.stringify(taskPattern)}],
  build: {
    // How files that are no code are imported, e.g. \`import prompt from "./prompt.md"\`.
    loader: { ".md": "text" },
  },
});
`;

export const TASK = `import { step, task, wait } from "@keelson/sdk";

export const hello = task({
  id: "hello",
  retry: { maxAttempts: 3 },
  async run({ name }: { name: string }) {
    // Keelson stores the result of a step. After a crash the step does not run again.
    const greeting = await step("greet", () => \`Hello, \${name}!\`);
    // A wait may last for days. A long wait holds no process.
    await wait.for("1s");
    console.log(greeting);
    return { greeting };
  },
});
`;

/** Neither types nor anything else that only TypeScript reads: it is also written as JavaScript. */
export const taskTestText = (extension: string): string => `import assert from "node:assert/strict";
import { test } from "node:test";
import { runTask } from "@keelson/sdk/testing";
import { hello } from "./hello.${extension}";

// In this process, without a server, and the wait takes no time.
test("greets by name", async () => {
  const { output } = await runTask(hello, { name: "Ada" }).ended;
  assert.deepEqual(output, { greeting: "Hello, Ada!" });
});
`;

export const tsconfigText = (include: readonly string[]): string =>
  `${JSON.stringify(
    {
      compilerOptions: {
        target: "es2023",
        lib: ["es2023"],
        module: "nodenext",
        types: ["node"],
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        verbatimModuleSyntax: true,
        erasableSyntaxOnly: true,
      },
      include,
    },
    null,
    2,
  )}\n`;
