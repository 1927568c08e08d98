import { TEST_FILE, TIME_IN_TESTS, type TimeInTests } from "./rules.ts";
import type { Finding, Repository } from "./repository.ts";

/** How a test hangs on the machine, by the lines that do so, and what to do instead. */
const HABITS: Readonly<Record<keyof TimeInTests, { pattern: RegExp; instead: string }>> = {
  pauses: {
    pattern: /\bawait (sleep|setTimeout|delay|pause)\(|\bsetTimeout\((resolve|done)\b/,
    instead: "waits for a time to pass: wait for a state with `until`",
  },
  bounds: {
    pattern: /\bassert\.ok\(\s*(performance|Date)\.now\(\) - \w+ <|\bassert\.ok\(.*\b(elapsed|took)\w* </,
    instead: "bounds a time from above: assert order, a count or a median",
  },
  guessedPorts: {
    pattern: /\bawait findFreePort\(/,
    instead: "takes a port that somebody else may take before it is used: listen on port 0",
  },
};

/** These are how tests wait, and what has such lines as text. */
const EXEMPT = /^(packages\/(server|console)\/test\/support\/until\.ts|scripts\/)/;

/** What a busy machine turns into a failure becomes rarer in tests, never more frequent. */
export function checkTimeInTests(repository: Repository, held: TimeInTests = TIME_IN_TESTS): Finding[] {
  const lines = repository.sources
    .filter(({ path }) => TEST_FILE.test(path) && !EXEMPT.test(path))
    .flatMap(({ path, text }) => text.split("\n").map((line, at) => ({ path, line: at + 1, text: line })));
  return Object.entries(HABITS).flatMap(([name, { pattern, instead }]) => {
    const allowed = held[name as keyof TimeInTests];
    const found = lines.filter(({ text }) => pattern.test(text));
    if (found.length > allowed)
      return found.map(({ path, line }) => ({
        ...{ path, line },
        message: `${instead} (${found.length} such lines in tests, ${allowed} before)`,
      }));
    if (found.length === allowed) return [];
    const message = `tests have ${found.length} such lines: lower TIME_IN_TESTS.${name} from ${allowed}`;
    return [{ path: "scripts/tidy/rules.ts", line: 1, message }];
  });
}
