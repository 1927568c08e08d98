import assert from "node:assert/strict";
import { access, chmod, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import { findRepository } from "../src/find-repository.ts";
import { readHistory } from "../src/history.ts";
import { WHOLE } from "../src/plan-parts.ts";
import { listTrackedFiles } from "../src/tracked-files.ts";
import { createFixtureRepository, WITHOUT_GIT } from "./support/fixture-repository.ts";

const { signal } = new AbortController();
const options = { skip: WITHOUT_GIT };

test("a repository is found from a folder inside it, with its branch and commit", options, async () => {
  await using fixture = await createFixtureRepository();
  const { root } = fixture;
  const name = basename(root);
  const empty = { root, name, head: null, branch: "main", shallow: false };
  assert.deepEqual(await findRepository(root, signal), empty);
  await fixture.write({ "src/deep/a.ts": "1\n" });
  await fixture.commit("2026-11-18T10:00:00Z");
  const head = (await fixture.git("rev-parse", "HEAD")).trim();
  assert.deepEqual(await findRepository(join(root, "src/deep"), signal), { ...empty, head });
  await fixture.git("checkout", "--quiet", "--detach");
  assert.deepEqual(await findRepository(root, signal), { ...empty, head, branch: null });
});

test("what is no repository fails without a retry and says what to do", options, async () => {
  await using fixture = await createFixtureRepository();
  const { root } = fixture;
  await writeFile(join(root, "file"), "");
  await rm(join(root, ".git"), { recursive: true });
  const hint = /name one in the payload, e\.g\. \{"path": /;
  for (const [path, reason] of [
    [root, /is not in a git repository/],
    [join(root, "gone"), /There is no folder .*gone .*ENOENT/],
    [join(root, "file"), /is a file/],
    ["--help", /There is no folder .*--help/],
  ] as const) {
    await assert.rejects(findRepository(path, signal), (error: Error) => {
      assert.equal(error.name, "NonRetryableError");
      assert.match(error.message, reason);
      assert.match(error.message, hint);
      return true;
    });
  }
});

test("the tracked files that are there are listed, whatever they are called", options, async () => {
  await using fixture = await createFixtureRepository();
  const names = ["a b.ts", "new\nline", "d[1]/*.ts", "d1/x.ts", "ü/ñ.md", "-rf", "deleted", "link"];
  await fixture.write(Object.fromEntries(names.map((name) => [name, "x\n"])));
  await rm(join(fixture.root, "link"));
  await symlink("a b.ts", join(fixture.root, "link"));
  await fixture.commit("2026-11-18T10:00:00Z");
  await fixture.write({ untracked: "x" });
  await rm(join(fixture.root, "deleted"));
  const expected = names.filter((name) => name !== "deleted" && name !== "link");
  assert.deepEqual((await listTrackedFiles(fixture.root, WHOLE, signal)).sort(), expected.sort());
  const part = { directory: "d[1]", recursive: true };
  assert.deepEqual(await listTrackedFiles(fixture.root, part, signal), ["d[1]/*.ts"]);
});

test("the history is that of the commit, by author and week", options, async () => {
  await using fixture = await createFixtureRepository();
  await fixture.commit("2026-11-02T10:00:00Z", "Bob");
  await fixture.commit("2026-11-16T10:00:00Z");
  await fixture.commit("2026-11-17T10:00:00Z", "Bob");
  const { head } = await findRepository(fixture.root, signal);
  const history = await readHistory(fixture.root, head, signal);
  assert.equal(history.commits, 3);
  assert.deepEqual(history.top_authors, [
    { name: "Bob", commits: 2 },
    { name: "Ada", commits: 1 },
  ]);
  assert.deepEqual(history.weeks, [
    { week: "2026-11-02", commits: 1 },
    { week: "2026-11-16", commits: 2 },
  ]);
  assert.equal((await readHistory(fixture.root, null, signal)).commits, 0);
});

test("programs that a repository's own configuration names are not run", options, async () => {
  await using fixture = await createFixtureRepository();
  const { root } = fixture;
  await fixture.write({ "a.txt": "x\n", ".gitattributes": "*.txt diff=own filter=own\n" });
  await fixture.commit("2026-11-18T10:00:00Z");
  const program = join(root, ".git", "program.sh");
  const trace = join(root, ".git", "it-ran");
  await writeFile(program, `#!/bin/sh\ntouch '${trace}'\n`);
  await chmod(program, 0o755);
  for (const key of [
    "core.fsmonitor",
    "core.pager",
    "diff.external",
    "diff.own.textconv",
    "filter.own.clean",
    "gpg.program",
  ]) {
    await fixture.git("config", key, program);
  }
  await fixture.git("config", "log.showSignature", "true");
  await fixture.git("config", "pager.log", "true");
  const { head } = await findRepository(root, signal);
  assert.equal((await readHistory(root, head, signal)).commits, 1);
  assert.equal((await listTrackedFiles(root, WHOLE, signal)).length, 2);
  await assert.rejects(access(trace), { code: "ENOENT" });
});

test("an aborted run ends its git", options, async () => {
  await using fixture = await createFixtureRepository();
  const reason = new Error("stop");
  await assert.rejects(listTrackedFiles(fixture.root, WHOLE, AbortSignal.abort(reason)), reason);
});
