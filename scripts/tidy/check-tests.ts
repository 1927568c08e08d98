import { TEST_FILE } from "./rules.ts";
import type { Finding, Repository } from "./repository.ts";
import type { Source } from "./read-source.ts";

/** How a test hangs on the machine, by the lines that do so, and what to do instead. */
const HABITS: readonly { pattern: RegExp; instead: string }[] = [
  {
    pattern: /\bawait (sleep|setTimeout|delay|pause)\(|\bsetTimeout\((resolve|done)\b/,
    instead:
      "waits for a time to pass: wait for a state with `until`, or say with `letPass` what the time is for",
  },
  {
    pattern: /\bassert\.ok\(\s*(performance|Date)\.now\(\) - \w+ <|\bassert\.ok\(.*\b(elapsed|took)\w* </,
    instead: "bounds a time from above: assert order, a count or a median",
  },
  {
    pattern: /\bawait findFreePort\(/,
    instead:
      "takes a port that somebody else may take before it is used: listen on port 0, or keep one with `claimPort`",
  },
];

/** These are how tests wait, and what has such lines as text. */
const EXEMPT = /^(packages\/(server|console)\/test\/support\/until\.ts|scripts\/)/;

/** What a busy machine would turn into a failure is not in tests. The code of tasks and programs that they run is text here. */
export function checkTimeInTests(repository: Repository): Finding[] {
  return repository.sources
    .filter(({ path }) => TEST_FILE.test(path) && !EXEMPT.test(path))
    .flatMap((source) =>
      codeOf(source)
        .split("\n")
        .flatMap((line, at) =>
          HABITS.filter(({ pattern }) => pattern.test(line)).map(({ instead: message }) => ({
            ...{ path: source.path, line: at + 1, message },
          })),
        ),
    );
}

/** A source without what its strings and templates say, on the lines that it has. */
const codeOf = ({ text, texts }: Source): string =>
  texts
    .filter((part) => HABITS.some(({ pattern }) => pattern.test(part.text)))
    .reduce((code, part) => code.replace(part.text, () => part.text.replace(/[^\n]+/g, "")), text);
