import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import type { SessionFile } from "@keelson/contract";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { cancelSessions, startSession } from "../../server/test/support/session-scene.ts";
import { createFolder, environmentOf, keelson, spawnKeelson, type Outcome } from "./support.ts";

let scene: RunScene;
let env: Record<string, string>;
let id: string;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
  env = environmentOf(scene.server);
  ({ id } = await startSession(scene, { external_id: "ticket-1" }));
});
after(async () => {
  await cancelSessions(scene);
  await scene.stop();
});

const run = (args: readonly string[], options: object = {}): Promise<Outcome> =>
  keelson(["session", ...args], { env, ...options });

/** Runs `keelson session …`, which must do what it was asked to, and gives what it wrote. */
async function session(args: readonly string[], options: object = {}): Promise<string> {
  const outcome = await run(args, options);
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome.stdout;
}

const put = async (args: readonly string[], options: object = {}): Promise<SessionFile> =>
  JSON.parse(await session(["put", ...args, "--json"], options)) as SessionFile;

const BYTES = Buffer.from([0, 255, 10, 13, 128]);

suite("files of a session on the command line", () => {
  test("are put, listed and read back as they are", async () => {
    await using folder = await createFolder();
    const cwd = folder.path;
    assert.match((await run(["files", id])).stderr, /^No files yet\. .*keelson session put <session>/);
    await writeFile(join(cwd, "receipt.PNG"), BYTES);
    const made = await session(["put", id, "receipt.PNG"], { cwd });
    assert.match(made, /^file_[0-9a-z]{26}\n$/);
    const fileId = made.trim();
    const again = await put(["-x", "ticket-1", "receipt.PNG"], { cwd });
    assert.deepEqual([again.id, again.name, again.media_type], [fileId, "receipt.PNG", "image/png"]);
    assert.match(
      await session(["files", id]),
      new RegExp(`^FILE.*\\n${fileId}  5     image/png  receipt\\.PNG  \\d{4}-\\S+\\n$`),
    );
    const shown = JSON.parse(await session(["cat", id, fileId, "--json"])) as {
      file: SessionFile;
      content: string;
    };
    assert.deepEqual(shown, { file: again, content: BYTES.toString("base64") });
    assert.equal(await session(["cat", "-x", "ticket-1", fileId, "-o", "copy.png"], { cwd }), "");
    assert.deepEqual(await readFile(join(cwd, "copy.png")), BYTES);
    const told = await session(["cat", id, fileId, "--output", "second.png", "--json"], { cwd });
    assert.deepEqual(JSON.parse(told), again);
    assert.deepEqual(await readFile(join(cwd, "second.png")), BYTES);
  });

  test("are passed through pipes, with the name and media type that are said", async () => {
    const unnamed = await put([id, "-"], { input: "Grüße" });
    assert.deepEqual([unnamed.name, unnamed.media_type], [null, "application/octet-stream"]);
    const named = await put([id, "-", "--name", "shop.md"], { input: "Grüße" });
    assert.deepEqual([named.name, named.media_type], ["shop.md", "text/markdown"]);
    const typed = await put([id, "-", "--name", "shop.md", "--media-type", "text/x-shop"], {
      input: "Grüße",
    });
    assert.deepEqual([typed.name, typed.media_type], ["shop.md", "text/x-shop"]);
    const { code, stdout } = await spawnKeelson(["session", "cat", id, unnamed.id], { env });
    assert.deepEqual([code, stdout], [0, "Grüße"]);
  });

  test("are written only where the command says, and over nothing", async () => {
    await using folder = await createFolder();
    const cwd = folder.path;
    const { id: fileId } = await put([id, "-", "--name", "..evil"], { input: "theirs" });
    await writeFile(join(cwd, "mine"), "mine");
    const refused = await run(["cat", id, fileId, "--output", "mine"], { cwd });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /mine exists, and is not overwritten/);
    assert.equal(await readFile(join(cwd, "mine"), "utf8"), "mine");
    assert.equal((await run(["cat", id, fileId, "--output", "."], { cwd })).code, 2);
    const nowhere = await run(["cat", id, fileId, "--output", "absent/file"], { cwd });
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /Cannot write absent\/file: ENOENT/);
    const unknown = await run(["cat", id, `${fileId.slice(0, -3)}000`, "--output", "unknown"], { cwd });
    assert.equal(unknown.code, 4);
    assert.ok(unknown.stderr.includes(`\`keelson session files ${id}\` lists its files`), unknown.stderr);
    const external = await run(["cat", "-x", "no such session", fileId]);
    assert.equal(external.code, 4);
    assert.match(external.stderr, /`keelson session files -x EXTERNAL_ID` lists its files/);
    assert.deepEqual(await readdir(cwd), ["mine"]);
  });

  test("are listed by pages, or all, and fit a terminal", async () => {
    const { id: many } = await startSession(scene);
    const ids: string[] = [];
    const name = `${"long-".repeat(30)}name`;
    for (const input of ["a", "b", "c"]) ids.unshift((await put([many, "-", "--name", name], { input })).id);
    const page = await run(["files", many, "--limit", "2", "--json"]);
    const first = JSON.parse(page.stdout) as { files: SessionFile[]; next_cursor: string };
    assert.deepEqual(
      first.files.map((file) => file.id),
      ids.slice(0, 2),
    );
    const rest = await run(["files", many, "--limit", "2", "--cursor", first.next_cursor]);
    assert.deepEqual([rest.stdout.match(/file_\w+/g), rest.stderr], [ids.slice(2), ""]);
    const all = await run(["files", many, "--all", "--json"]);
    assert.equal((JSON.parse(all.stdout) as typeof first).files.length, 3);
    const shown = await run(["files", many, "--limit", "2"], { columns: 80 });
    const lines = stripVTControlCharacters(shown.stdout).split("\n");
    assert.deepEqual(
      lines.filter((line) => line.length > 80),
      [],
    );
    assert.match(shown.stderr, /^More: --cursor \S+\n$/);
  });

  test("are a person's to use who is signed in", async () => {
    const { user_token, project_id, environment_id } = scene.server.credentials;
    const asPerson = {
      env: {
        ...{ KEELSON_URL: scene.server.url, KEELSON_USER_TOKEN: user_token },
        ...{ KEELSON_PROJECT: project_id, KEELSON_ENVIRONMENT: environment_id },
      },
      input: "by a person",
    };
    const { id: fileId } = await put([id, "-"], asPerson);
    assert.match(await session(["files", id], asPerson), new RegExp(fileId));
    assert.equal(await session(["cat", id, fileId], asPerson), "by a person");
  });

  test("are refused in words and by exit codes", async () => {
    await using folder = await createFolder();
    const cwd = folder.path;
    await writeFile(join(cwd, "a.txt"), "a");
    for (const [args, code, message] of [
      [["put", id, "absent"], 2, /Cannot read absent/],
      [["put", id, "a.txt", "--media-type", "png"], 2, /a type and a subtype, such as image\/png/],
      [["put", id, "a.txt", "--name", "a/b"], 1, /must be the name of a file/],
      [["put", "ticket-1", "a.txt"], 4, /add -x/],
      [["cat", id, "a.txt"], 4, /ids begin with file_\. `keelson session files` lists them/],
      [["files", "sess_01kahvq3rvew2bq7m0tk5c9n4h"], 4, /not_found/],
    ] as const) {
      const outcome = await run(args, { cwd });
      assert.equal(outcome.code, code, outcome.stderr);
      assert.match(outcome.stderr, message);
    }
    const { id: ended } = await startSession(scene);
    await session(["cancel", ended]);
    const late = await run(["put", ended, "a.txt"], { cwd });
    assert.equal(late.code, 5, late.stderr);
    assert.match(late.stderr, /\(session_closed, request /);
  });
});
