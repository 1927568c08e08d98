import assert from "node:assert/strict";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { before, describe, test } from "node:test";
import { BadRequestError, decodeBase64, RunFailedError, type Client, type Run } from "@keelson/sdk";
import { startParts } from "../src/part-runs.ts";
import type { Report } from "../src/report.ts";
import type { repositoryReport } from "../src/tasks/repository-report.ts";
import {
  createFixtureRepository,
  WITHOUT_GIT,
  type FixtureRepository,
} from "./support/fixture-repository.ts";
import { shareExamples } from "./support/shared-examples.ts";
import { ROOT, type Everything } from "./support/start-everything.ts";

const options = { skip: WITHOUT_GIT, timeout: 120_000 };
const TASK = "repository-report";

let everything: Everything;
let client: Client;

async function createRepository(): Promise<FixtureRepository> {
  const fixture = await createFixtureRepository();
  await fixture.write({ "README.md": "# Fixture\n", "src/a.ts": "1\n2\n3\n", "src/deep/b.ts": "1\n" });
  await fixture.commit("2026-11-02T10:00:00Z", "Bob");
  await fixture.write({ "docs/c.md": "one\ntwo\n", "test/d.ts": "1\n2\n", "test/e.bin": "\u0000" });
  await fixture.commit("2026-11-16T10:00:00Z");
  return fixture;
}

/** The runs that counted the directories of a report, by directory. */
async function partsOf(run: { id: string }): Promise<Map<string, Run>> {
  const parts = new Map<string, Run>();
  for await (const part of client.runs.list({ tag: `report:${run.id}` })) {
    const { directory } = part.payload as { directory: string };
    assert.equal(parts.has(directory), false, `${directory} was started twice`);
    parts.set(directory, part);
  }
  return parts;
}

describe("the example on a real server", options, () => {
  before(async () => {
    everything = await shareExamples();
    client = everything.client;
  });

  test("a report has the history and every directory of a repository, as JSON and as a chart", async () => {
    await using fixture = await createRepository();
    const output = join(fixture.root, ".git", "report");
    const started = await client.tasks.start<typeof repositoryReport>(TASK, {
      // Relative paths start at the folder that the worker was started in.
      path: relative(ROOT, join(fixture.root, "src")),
      output: relative(ROOT, output),
    });
    const run = await client.runs.wait(started, { throwOnFailure: true });
    const totals = {
      ...{ commits: 2, authors: 2, files: 6, lines: 9, bytes: 31, tracked_files: 6 },
      ...{ directories: 4, directories_failed: 0 },
    };
    const files = { json: join(output, "report.json"), svg: join(output, "report.svg") };
    assert.deepEqual(run.output, { ...files, complete: true, totals, failed: [] });
    assert.deepEqual(run.metadata, { directories: { done: 4, total: 4, failed: 0 } });

    const report = JSON.parse(await readFile(files.json, "utf8")) as Report;
    assert.deepEqual(report.totals, totals);
    assert.deepEqual(
      report.directories.map(({ directory, status, files: count }) => [directory, status, count]),
      [
        [".", "complete", 1],
        ["docs", "complete", 1],
        ["src", "complete", 2],
        ["test", "complete", 2],
      ],
    );
    assert.deepEqual(
      report.languages.map(({ language, lines }) => [language, lines]),
      [
        ["TypeScript", 6],
        ["Markdown", 3],
      ],
    );
    assert.match(await readFile(files.svg, "utf8"), /^<svg .*<\/svg>\n$/s);
  });

  test("a file that cannot be read costs its directory after three attempts, and nothing else", async () => {
    await using fixture = await createRepository();
    const output = join(fixture.root, ".git", "report");
    // A folder where git knows a file: even root cannot read it.
    await rm(join(fixture.root, "docs/c.md"));
    await mkdir(join(fixture.root, "docs/c.md"));
    const run = await client.runs.wait(
      await client.tasks.start<typeof repositoryReport>(TASK, {
        path: fixture.root,
        output,
        failing_file: "test/d.ts",
        failing_attempts: 1,
      }),
      { throwOnFailure: true },
    );
    const reason = "docs/c.md cannot be read: it is no longer a regular file";
    assert.equal(run.attemptNumber, 1);
    assert.equal(run.output?.complete, false);
    assert.deepEqual(run.output?.failed, [{ directory: "docs", reason }]);
    assert.deepEqual(run.metadata, { directories: { done: 4, total: 4, failed: 1 } });

    const parts = await partsOf(run);
    const ends = [...parts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([directory, { status, attemptNumber: attempts }]) => [directory, status, attempts]);
    assert.deepEqual(ends, [
      [".", "succeeded", 1],
      ["docs", "failed", 3],
      ["src", "succeeded", 1],
      ["test", "succeeded", 2],
    ]);

    const report = JSON.parse(await readFile(join(output, "report.json"), "utf8")) as Report;
    const docs = report.directories.find(({ directory }) => directory === "docs");
    const head = { directory: "docs", recursive: true, run_id: parts.get("docs")?.id, attempts: 3 };
    assert.deepEqual(docs, { ...head, status: "failed", reason, files: 1 });
    assert.equal(report.totals.files, 5);
    assert.match(
      await readFile(join(output, "report.svg"), "utf8"),
      /1 of 4 directories could not be read and is left out/,
    );
  });

  test("a second attempt of a report finds the runs of its directories instead of starting them again", async () => {
    await using fixture = await createRepository();
    const run = { id: `run_${"0".repeat(26)}`, deploymentVersion: everything.deploymentVersion };
    const { signal } = new AbortController();
    const plan = ["docs", "src"].map((directory) => ({ directory, recursive: true, files: 1 }));
    const attempt = () => startParts(client, plan, fixture.root, {}, { run, signal });
    const idsOf = (parts: Awaited<ReturnType<typeof attempt>>): string[] => parts.map((part) => part.run.id);
    const first = await attempt();
    assert.deepEqual(idsOf(await attempt()), idsOf(first));
    assert.equal((await partsOf(run)).size, 2);
    for (const part of first) await client.runs.wait(part.run, { throwOnFailure: true });
  });

  test("a cancelled report leaves none of its directories running", async () => {
    await using fixture = await createRepository();
    const run = await client.tasks.start<typeof repositoryReport>(TASK, {
      path: fixture.root,
      failing_file: "src/a.ts",
    });
    for await (const chunk of client.runs.logs(run.id, { follow: true })) {
      if (Buffer.from(decodeBase64(chunk.data)).includes("Started 4 runs")) break;
    }
    await client.runs.cancel(run.id);
    assert.equal((await client.runs.wait(run)).status, "cancelled");
    const parts = await partsOf(run);
    assert.equal(parts.size, 4);
    for (const part of parts.values())
      assert.ok((await client.runs.wait(part, { timeout: "20s" })).finishedAt, part.id);
  });

  test("what is no repository fails at once, and what does not fit the schema is not started", async () => {
    await using fixture = await createRepository();
    const path = join(fixture.root, "gone");
    const run = await client.runs.wait(await client.tasks.start(TASK, { path }));
    assert.deepEqual([run.status, run.attemptNumber, run.failure?.retryable], ["failed", 1, false]);
    assert.match(run.failure?.message ?? "", /There is no folder .*gone .* name one in the payload/);
    const other = await client.tasks.start(TASK, { path: fixture.root, failing_file: "src/none.ts" });
    await assert.rejects(client.runs.wait(other, { throwOnFailure: true }), RunFailedError);
    for (const payload of [
      { pfad: "." },
      { path: 5 },
      { path: "" },
      { path: ".", failing_attempts: 1 },
      "x",
      [],
    ]) {
      await assert.rejects(client.tasks.start(TASK, payload), (error: unknown) => {
        assert.ok(error instanceof BadRequestError, JSON.stringify(payload));
        assert.deepEqual([error.status, error.code], [400, "invalid_payload"]);
        return true;
      });
    }
  });
});
