// A worker of workspaces that does nothing by itself: a test speaks the protocol through it, one call at a time.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EMPTY_TREE, encodeManifest, putFile, storeContent, type Tree } from "@keelson/workspace-tree";
import type { Answer, ApiServer } from "./api-server.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

type PollOptions = {
  limit?: number;
  wait?: string;
  isolation?: string;
  held?: Json[];
  quarantined?: Json[];
  begins_given?: boolean;
};

export interface WorkspaceWorker {
  readonly token: string;
  call(path: string, body: unknown): Promise<Answer>;
  /** One poll; by default it does not wait and takes nothing. */
  poll(options?: PollOptions): Promise<Json>;
  /** Leases one materialization. */
  take(options?: { isolation?: string; held?: Json[] }): Promise<Json>;
  /** What every call about a leased materialization carries. */
  fields(leased: Json): { materialization_id: string; environment_id: string; epoch: number };
  live(leased: Json, isolation?: string): Promise<Answer>;
  /** Stores a tree of these files and commits it. */
  commit(leased: Json, parent: string, files: Record<string, string>, extra?: object): Promise<Answer>;
  /** Stores a tree's pieces and manifest; gives the digests. */
  store(leased: Json, files: Record<string, string>): Promise<{ manifest: string; blobs: readonly string[] }>;
  stopped(leased: Json): Promise<Answer>;
  renew(leased: Json, extra?: object): Promise<Json>;
}

async function enroll(server: ApiServer): Promise<string> {
  const minted = await server.call("POST", "/worker/v1/auth/token", {
    as: null,
    body: { enrollment_token: server.credentials.enrollment_token, worker_protocol_version: 1 },
  });
  const as = minted.body.token as string;
  const registration = { capacity: { executions: 0, workspaces: 4 }, worker_protocol_version: 1 };
  const registered = await server.call("POST", "/worker/v1/register", { as, body: registration });
  assert.equal(registered.status, 200, registered.text);
  assert.equal((await server.call("POST", "/worker/v1/activate", { as })).status, 200);
  return as;
}

/** Enrolls one, unless the token of a worker is given that is enrolled. */
export async function startWorkspaceWorker(server: ApiServer, token?: string): Promise<WorkspaceWorker> {
  const as = token ?? (await enroll(server));
  const call: WorkspaceWorker["call"] = (path, body) =>
    server.call("POST", `/worker/v1${path}`, { as, body });

  const fields: WorkspaceWorker["fields"] = ({ materialization_id, environment_id, epoch }) => ({
    materialization_id,
    environment_id,
    epoch,
  });
  const poll: WorkspaceWorker["poll"] = async ({
    limit = 0,
    wait = "0s",
    isolation = "namespace",
    held = [],
    ...more
  } = {}) => {
    const answer = await call("/workspaces/lease", { limit, wait, isolation, held, ...more });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const store: WorkspaceWorker["store"] = async ({ environment_id }, files) => {
    const sink = {
      put: async (digest: string, bytes: Uint8Array): Promise<void> => {
        const path = `/worker/v1/blobs/${digest}?environment_id=${environment_id}`;
        assert.equal((await server.call("PUT", path, { as, bytes })).status, 200);
      },
    };
    let tree: Tree = EMPTY_TREE;
    for (const [path, text] of Object.entries(files)) {
      const stored = await storeContent(chunks(text), sink, 1_000_000);
      tree = putFile(tree, { path, modifiedAt: 1_700_000_000_000, ...stored });
    }
    const manifest = await encodeManifest(tree);
    await sink.put(manifest.digest, manifest.bytes);
    return { manifest: manifest.digest, blobs: manifest.blobs };
  };
  return {
    token: as,
    call,
    poll,
    fields,
    store,
    take: async ({ isolation = "namespace", held = [] } = {}) => {
      const { materializations } = await poll({ limit: 1, wait: "10s", isolation, held });
      assert.equal(materializations.length, 1);
      return materializations[0];
    },
    live: (leased, isolation = "namespace") => call("/workspaces/live", { ...fields(leased), isolation }),
    commit: async (leased, parent, files, extra = {}) => {
      const { manifest } = await store(leased, files);
      return call("/workspaces/commit", {
        ...fields(leased),
        commit_id: randomUUID(),
        parent_version_id: parent,
        manifest_digest: manifest,
        cause: { kind: "stop" },
        ...extra,
      });
    },
    stopped: (leased) => call("/workspaces/stopped", fields(leased)),
    renew: async (leased, extra = {}) => {
      const answer = await call("/workspaces/renew", {
        materializations: [{ ...fields(leased), dirty: false, busy: false, ...extra }],
      });
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    },
  };
}

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
