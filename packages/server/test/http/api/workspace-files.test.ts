import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { digestOf, startApiServer, type ApiServer } from "../../support/api-server.ts";
import { workspaceCalls, type WorkspaceCalls } from "../../support/workspaces.ts";

describe("files of a workspace", () => {
  let server: ApiServer;
  let calls: WorkspaceCalls;
  before(async () => {
    server = await startApiServer();
    calls = workspaceCalls(server);
  });
  after(() => server.stop());

  const content = (id: string, name: string): string =>
    `/api/workspaces/${id}/files/content?path=${encodeURIComponent(name)}`;

  test("a file is written, listed, looked at, read and removed", async () => {
    const { id } = await calls.create();
    const written = await server.call("PUT", content(id, "src/näme 😀.txt"), { bytes: Buffer.from("hello") });
    assert.deepEqual([written.status, written.body.file.mode], [201, "0644"]);
    const digest = digestOf(Buffer.from("hello"));
    assert.equal(written.headers.get("etag"), `"${digest}"`);
    assert.deepEqual(await calls.files(id), ["directory src"]);
    const stat = await server.call(
      "GET",
      `/api/workspaces/${id}/files/stat?path=${encodeURIComponent("src/näme 😀.txt")}`,
    );
    assert.deepEqual(stat.body, written.body.file);
    assert.deepEqual([stat.body.name, stat.body.size_bytes, stat.body.digest], ["näme 😀.txt", 5, digest]);
    const read = await server.call("GET", content(id, "src/näme 😀.txt"));
    assert.equal(read.text, "hello");
    assert.deepEqual(
      ["etag", "content-length", "x-content-type-options", "accept-ranges", "content-disposition"].map(
        (name) => read.headers.get(name),
      ),
      [`"${digest}"`, "5", "nosniff", "bytes", "attachment; filename*=UTF-8''n%C3%A4me%20%F0%9F%98%80.txt"],
    );
    const same = await server.call("PUT", content(id, "src/näme 😀.txt"), { bytes: Buffer.from("hello") });
    assert.deepEqual([same.status, same.body.version_id], [200, written.body.version_id]);
    const removed = await server.call("DELETE", content(id, "src/näme 😀.txt"));
    assert.deepEqual([removed.status, removed.body.file], [200, null]);
    assert.deepEqual(await calls.files(id, "path=src"), []);
    assert.equal(await calls.read(id, "src/näme 😀.txt"), "404 not_found");
    assert.equal((await server.call("DELETE", content(id, "src/näme 😀.txt"))).status, 404);
    assert.equal(await calls.read(id, "src"), "400 invalid_request");
    assert.equal((await server.call("DELETE", content(id, "src"))).status, 400);
    const root = await server.call("GET", `/api/workspaces/${id}/files/stat`);
    assert.deepEqual([root.body.kind, root.body.path], ["directory", ""]);
  });

  test("source says which version is read, and nothing else is taken for it", async () => {
    const { id } = await calls.create();
    const { version_id: old } = await calls.write(id, "f", "old");
    await calls.write(id, "f", "new");
    assert.equal(await calls.read(id, "f"), "new");
    assert.equal(await calls.read(id, "f", "&source=current"), "new");
    assert.equal(await calls.read(id, "f", `&source=version&version_id=${old}`), "old");
    assert.equal(await calls.read(id, "f", `&version_id=${old}`), "400 invalid_request");
    assert.equal(await calls.read(id, "f", `&source=current&version_id=${old}`), "400 invalid_request");
    assert.equal(await calls.read(id, "f", "&source=version"), "400 invalid_request");
    assert.equal(await calls.read(id, "f", "&source=live"), "501 not_implemented");
    assert.equal(await calls.read(id, "f", "&source=other"), "400 invalid_request");
    const { id: other } = await calls.create();
    assert.equal(await calls.read(other, "f", `&source=version&version_id=${old}`), "404 not_found");
    for (const route of ["files", "files/stat"]) {
      const ask = (query: string) => server.call("GET", `/api/workspaces/${id}/${route}?${query}`);
      assert.equal((await ask("source=live")).status, 501);
      assert.equal((await ask(`version_id=${old}`)).status, 400);
      assert.equal((await ask(`source=version&version_id=${old}`)).status, 200);
    }
  });

  test("a path that no tree has is refused, and none leads out of it", async () => {
    const { id } = await calls.create();
    await calls.write(id, "dir/f", "x");
    for (const bad of [
      "/etc/passwd",
      "..",
      "dir/../../x",
      "dir//f",
      "dir/",
      "./dir",
      "a\0b",
      "n".repeat(300),
      "d/".repeat(2100) + "f",
    ]) {
      assert.equal(await calls.read(id, bad), "400 invalid_path", bad.slice(0, 20));
      const query = `path=${encodeURIComponent(bad)}`;
      for (const route of [`files?${query}`, `files/stat?${query}`])
        assert.equal(
          (await server.call("GET", `/api/workspaces/${id}/${route}`)).body.error.code,
          "invalid_path",
        );
      const put = await server.call("PUT", content(id, bad), { bytes: Buffer.from("x") });
      assert.deepEqual([put.status, put.body.error.code], [400, "invalid_path"]);
      assert.equal((await server.call("DELETE", content(id, bad))).body.error.code, "invalid_path");
    }
    for (const absent of ["dir/f/g", "dir/f/..x", "%2e%2e", "dir\\f"])
      assert.equal(await calls.read(id, absent), "404 not_found", absent);
    const through = await server.call("PUT", content(id, "dir/f/g"), { bytes: Buffer.from("x") });
    assert.deepEqual([through.status, through.body.error.code], [400, "invalid_request"]);
    assert.equal((await server.call("PUT", content(id, "dir"), { bytes: Buffer.from("x") })).status, 400);
    assert.equal((await server.call("GET", `/api/workspaces/${id}/files?path=dir/f`)).status, 400);
  });

  test("pages of a directory are sorted by bytes and stay in their version", async () => {
    const { id } = await calls.create();
    const names = ["b", "B", "a-b", "a", "é", "😀", "\uffee", "z"];
    for (const name of names) await calls.write(id, name, name);
    const expected = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { body } = await server.call(
        "GET",
        `/api/workspaces/${id}/files?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`,
      );
      seen.push(...body.files.map(({ name }: { name: string }) => name));
      cursor = body.next_cursor;
      // What is committed between two pages is in neither.
      await calls.write(id, `m${seen.length}`, "m");
    }
    assert.deepEqual(seen, expected);
    const { body } = await server.call("GET", `/api/workspaces/${id}/files?limit=1`);
    for (const elsewhere of [
      `/api/workspaces/${id}/files?path=a`,
      `/api/workspaces/${(await calls.create()).id}/files`,
    ]) {
      const answer = await server.call(
        "GET",
        `${elsewhere}${elsewhere.includes("?") ? "&" : "?"}cursor=${body.next_cursor}`,
      );
      assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_cursor"]);
    }
    assert.equal((await server.call("GET", `/api/workspaces/${id}/files?limit=501`)).status, 400);
    assert.equal((await server.call("GET", `/api/workspaces/${id}/files?limit=500`)).status, 200);
  });

  test("ranges, entity tags and HEAD are as HTTP has them", async () => {
    const { id } = await calls.create();
    const bytes = randomBytes(9_000_000);
    await calls.write(id, "big", bytes);
    const tag = `"${digestOf(bytes)}"`;
    const get = (headers: Record<string, string>, method = "GET") =>
      server.call(method, content(id, "big"), { headers });
    for (const [range, start, end] of [
      ["bytes=0-0", 0, 1],
      ["bytes=4194300-4194310", 4_194_300, 4_194_311],
      ["bytes=8999999-", 8_999_999, 9_000_000],
      ["bytes=-5", 8_999_995, 9_000_000],
      ["bytes=-99999999", 0, 9_000_000],
      ["bytes=8000000-99999999", 8_000_000, 9_000_000],
    ] as const) {
      const answer = await get({ range });
      assert.equal(answer.status, 206, range);
      assert.ok(bytes.subarray(start, end).equals(answer.body), range);
      assert.equal(answer.headers.get("content-range"), `bytes ${start}-${end - 1}/9000000`);
    }
    for (const range of ["bytes=9000000-", "bytes=-0"]) {
      const past = await get({ range });
      assert.deepEqual([past.status, past.body.error.code], [416, "range_not_satisfiable"]);
      assert.equal(past.headers.get("content-range"), "bytes */9000000");
    }
    for (const range of ["bytes=5-1", "lines=1-2", "bytes=0-1,4-5", "bytes=a-b", "bytes=-"])
      assert.equal((await get({ range })).status, 200, range);
    assert.equal((await get({ range: "bytes=0-9", "if-range": tag })).status, 206);
    assert.equal((await get({ range: "bytes=0-9", "if-range": '"other"' })).status, 200);
    assert.equal((await get({ "if-none-match": `"x", W/${tag}` })).status, 304);
    assert.equal((await get({ "if-none-match": '"x"' })).status, 200);
    const head = await get({}, "HEAD");
    assert.deepEqual([head.status, head.headers.get("content-length"), head.text], [200, "9000000", ""]);
    await calls.write(id, "empty", "");
    assert.equal(await calls.read(id, "empty"), "");
    assert.equal(
      (await server.call("GET", content(id, "empty"), { headers: { range: "bytes=0-" } })).status,
      416,
    );
  });

  test("a write under If-Match is only over what was read", async () => {
    const { id } = await calls.create();
    const put = (text: string, headers: Record<string, string>) =>
      server.call("PUT", content(id, "f"), { bytes: Buffer.from(text), headers });
    assert.equal((await put("one", { "if-match": "*" })).status, 412);
    const one = await put("one", { "if-none-match": "*" });
    assert.equal(one.status, 201);
    assert.deepEqual((await put("x", { "if-none-match": "*" })).body.error.code, "precondition_failed");
    const tag = one.headers.get("etag") as string;
    assert.equal((await put("two", { "if-match": tag })).status, 201);
    for (const bare of [tag.slice(1, -1), "", `${tag},x`]) {
      const malformed = await put("three", { "if-match": bare });
      assert.deepEqual([malformed.status, malformed.body.error.details.issues[0].path], [400, "If-Match"]);
    }
    const stale = await put("three", { "if-match": tag });
    assert.deepEqual([stale.status, stale.body.error.code], [412, "precondition_failed"]);
    const removal = await server.call("DELETE", content(id, "f"), { headers: { "if-match": tag } });
    assert.equal(removal.status, 412);
    assert.equal(await calls.read(id, "f"), "two");
    // Of racing writers that read the same, one wins.
    const now = `"${digestOf(Buffer.from("two"))}"`;
    const racing = await Promise.all(["a", "b", "c", "d"].map((text) => put(text, { "if-match": now })));
    assert.deepEqual(
      racing.map(({ status }) => status).sort((a, b) => a - b),
      [201, 412, 412, 412],
    );
  });

  test("a file over the limit and a body of another type are refused", async () => {
    const { id } = await calls.create();
    const large = await server.call("PUT", content(id, "f"), { bytes: Buffer.alloc(64 * 1024 * 1024 + 1) });
    assert.deepEqual([large.status, large.body.error.code], [413, "payload_too_large"]);
    const json = await server.call("PUT", content(id, "f"), { body: {} });
    assert.equal(json.status, 415);
    assert.equal(
      (await server.call("PUT", `/api/workspaces/${id}/files/content`, { bytes: Buffer.from("x") })).status,
      400,
    );
    assert.deepEqual(await calls.files(id), []);
  });

  test("damaged and missing bytes are an error, never wrong bytes", async () => {
    const { id } = await calls.create();
    const others = new Set(await listBlobs(server.dataDir));
    await calls.write(id, "f", "precious ".repeat(1000));
    await calls.write(id, "large", randomBytes(9_000_000));
    for (const blob of (await listBlobs(server.dataDir)).filter((file) => !others.has(file))) {
      const whole = await readFile(blob);
      const damaged = Buffer.from(whole);
      damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] as number) ^ 1;
      await writeFile(blob, damaged);
      for (const name of ["f", "large"]) {
        const answer = await server.call("GET", content(id, name)).catch(() => null);
        // A large file may break off where the damage begins.
        if (answer?.status === 200)
          assert.ok(
            name === "large" ? answer.body.length === 9_000_000 : answer.text === "precious ".repeat(1000),
          );
        else if (answer !== null) assert.equal(answer.status, 500);
      }
      await rm(blob);
      assert.ok([200, 500].includes((await server.call("GET", content(id, "f"))).status));
      await writeFile(blob, whole);
    }
    assert.equal(await calls.read(id, "f"), "precious ".repeat(1000));
  });
});

async function listBlobs(dataDir: string): Promise<string[]> {
  const names = await readdir(path.join(dataDir, "workspaces"), { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}
