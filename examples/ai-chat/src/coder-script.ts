import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { resultsIn, resultsSince, saidIn } from "./read-prompt.ts";
import type { Script, Turn } from "./scripted-model.ts";

type Fix = { failure: RegExp; find: string; replace: string; why: string };

/** What the script knows. It sees one failure at a time, like a person who reads the first line that is red. */
const FIXES: readonly Fix[] = [
  {
    failure: /^not ok - adds up:/m,
    find: "total - number",
    replace: "total + number",
    why: "The sum subtracts its numbers.",
  },
  {
    failure: /^not ok - finds the largest:/m,
    find: '"$number" -lt "$largest"',
    replace: '"$number" -gt "$largest"',
    why: "The largest number is looked for the wrong way round.",
  },
];

const PLAN =
  "My plan: I look at the files, run the tests, and change one thing at a time until all of them pass. I ask before I write.";

type Tests = { exitCode: number; output: string };

/** What the tests have said last. */
const lastTests = (prompt: LanguageModelV4Prompt): Tests | undefined =>
  resultsIn(prompt).findLast(({ toolName, isRefused }) => toolName === "run_tests" && !isRefused)?.value as
    | Tests
    | undefined;

function readTests({ exitCode }: Tests): Turn {
  if (exitCode === 0) return { text: "All tests pass." };
  return {
    text: `${exitCode} of the tests fail. I read the code.`,
    call: ["read_file", { path: "numbers.sh" }],
  };
}

function fix(code: string, { output }: Tests): Turn {
  const known = FIXES.find(({ failure, find }) => failure.test(output) && code.includes(find));
  if (known === undefined) return { text: `I do not know what would help against this:\n${output}` };
  const { find, replace, why } = known;
  const content = code.replace(find, () => replace);
  return { text: why, call: ["write_file", { why, path: "numbers.sh", content }] };
}

function report(prompt: LanguageModelV4Prompt): Turn {
  const results = resultsIn(prompt);
  const written = results.filter(({ toolName, isRefused }) => toolName === "write_file" && !isRefused);
  const tests = lastTests(prompt);
  const found =
    tests === undefined ? "I have not run the tests." : `The last tests had ${tests.exitCode} failures.`;
  return {
    text: `So far I have used ${results.length} tools, and written ${written.length} times. ${found}`,
  };
}

function begin(prompt: LanguageModelV4Prompt): Turn {
  const { text = "" } = saidIn(prompt).at(-1) ?? {};
  if (/so far/i.test(text)) return report(prompt);
  if (lastTests(prompt) === undefined) return { text: PLAN, call: ["list_files", {}] };
  return { text: "I run the tests.", call: ["run_tests", {}] };
}

/** Runs the tests, and changes the code until they pass. */
export const coderScript: Script = (prompt) => {
  const result = resultsSince(prompt).at(-1);
  if (result === undefined) return begin(prompt);
  const tests = lastTests(prompt);
  if (result.isRefused) return { text: "All right, I leave the file as it is." };
  if (result.toolName === "run_tests" && tests !== undefined) return readTests(tests);
  if (result.toolName === "read_file" && tests !== undefined) return fix(String(result.value), tests);
  return { text: "I run the tests.", call: ["run_tests", {}] };
};
