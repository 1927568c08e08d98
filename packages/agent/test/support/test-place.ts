// Where a test's runs are: environments of a worker group of its own, on the real server that all tests of a file share.

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { after } from "node:test";
import {
  decodeId,
  encodeId,
  parseArchive,
  PERMISSIONS,
  type CreateDeployment,
  type DurableError,
  type EntrypointDeclaration,
  type Uuid,
} from "@keelson/contract";
import { createDeployment } from "../../../server/src/core/deployments/create-deployment.ts";
import { markDeploymentReady } from "../../../server/src/core/deployments/deployment-writes.ts";
import { listJournals } from "../../../server/src/core/journal/journal-reads.ts";
import { sql } from "../../../server/src/db/sql.ts";
import { createUuidGenerator } from "../../../server/src/uuid.ts";
import {
  startApiServer,
  type Answer,
  type ApiServer,
  type CallOptions,
} from "../../../server/test/support/api-server.ts";
import { addApiKey, addEnrollmentToken } from "../../../server/test/support/tenancy.ts";
import { createTestClock } from "../../../server/test/support/test-clock.ts";
import type { Owner } from "./clean-up.ts";

/** The server's clock. */
export const clock = createTestClock();

let started: Promise<ApiServer> | undefined;
const ends: (() => Promise<void>)[] = [];
after(async () => {
  for (const end of ends) await end();
  await (await started)?.stop();
});

/** What it owns ends before its server. */
export const thisFile: Owner = { after: (end) => void ends.push(end) };

/** The server of this file. */
export const sharedServer = (): Promise<ApiServer> => (started ??= startApiServer({ clock: clock.now }));

export const digestOf = (bytes: string | Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

const newUuid = createUuidGenerator(clock.now);

/** A group whose workers are those of one test. */
export type TestGroup = { server: ApiServer; id: Uuid<"wgrp">; enrollmentToken: string };

export async function addGroup(server: ApiServer): Promise<TestGroup> {
  const id = newUuid<"wgrp">();
  await server.db.query(sql`INSERT INTO worker_groups (id, name) VALUES (${id}, ${`group ${id}`})`);
  return { server, id, enrollmentToken: await addEnrollmentToken(server, id) };
}

/** One environment of the test's group. */
export class TestPlace {
  readonly id: string;
  readonly #server: ApiServer;
  readonly #environmentId: Uuid<"env">;
  readonly #workerGroupId: Uuid<"wgrp">;
  readonly #apiKey: string;
  readonly #uploaded = new Map<string, Promise<Answer>>();
  readonly #deployed = new Map<string, Promise<string>>();

  private constructor(
    server: ApiServer,
    environmentId: Uuid<"env">,
    workerGroupId: Uuid<"wgrp">,
    apiKey: string,
  ) {
    this.#server = server;
    this.#environmentId = environmentId;
    this.#workerGroupId = workerGroupId;
    this.#apiKey = apiKey;
    this.id = encodeId("env", environmentId);
  }

  static async add({ server, id }: TestGroup): Promise<TestPlace> {
    const environmentId = newUuid<"env">();
    const projectId = decodeId("proj", server.credentials.project_id);
    await server.db.query(sql`
      INSERT INTO environments (id, project_id, name, slug, worker_group_id)
      VALUES (${environmentId}, ${projectId}, 'Test', ${`test-${environmentId}`}, ${id})`);
    return new TestPlace(server, environmentId, id, await addApiKey(server, PERMISSIONS, { environmentId }));
  }

  /** A call as a client of the environment, which must succeed. */
  async call(method: string, path: string, body?: object): Promise<Answer["body"]> {
    const headers: Record<string, string> = method === "POST" ? { "idempotency-key": randomUUID() } : {};
    const answer = await this.#send(method, path, { headers, ...(body && { body }) });
    return answer.body;
  }

  /** Where a busy machine keeps the database from answering it tries again, as a client does. */
  async #send(method: string, path: string, options: CallOptions): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#server.call(method, path, { as: this.#apiKey, ...options });
      if (answer.status === 503 && tries < 5) continue;
      assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      return answer;
    }
  }

  async upload(bytes: Uint8Array): Promise<void> {
    const digest = digestOf(bytes);
    const uploading =
      this.#uploaded.get(digest) ?? this.#send("PUT", `/v1/deployment-bundles/${digest}`, { bytes });
    this.#uploaded.set(digest, uploading);
    await uploading;
  }

  /**
   * A deployment of the uploaded bundle with this one task, which is ready: as if another worker had checked it, so that
   * the one under test meets its code in a run first. Gives its version.
   */
  deploy(bundle: Uint8Array, format: number, task: EntrypointDeclaration): Promise<string> {
    const key = JSON.stringify([digestOf(bundle), task]);
    const deployed =
      this.#deployed.get(key) ?? this.#deploy(bundle, creationOf(digestOf(bundle), format, [task]));
    this.#deployed.set(key, deployed);
    return deployed;
  }

  async #deploy(bundle: Uint8Array, request: CreateDeployment): Promise<string> {
    const { version } = await this.#server.db.transaction(async (tx) => {
      const now = clock.now();
      const place = {
        environmentId: this.#environmentId,
        projectId: decodeId("proj", this.#server.credentials.project_id) as Uuid<"proj">,
        workerGroupId: this.#workerGroupId,
      };
      const row = await createDeployment(tx, newUuid, place, {
        request,
        archive: request.bundle_format_version === 1 ? null : parseArchive(bundle),
        clientVersion: null,
        cliVersion: null,
        sdkVersion: null,
        now,
      });
      await markDeploymentReady(tx, this.#environmentId, row.id, now);
      return row;
    });
    return version;
  }

  /** What the journal of the run has. */
  async journalOf(
    runId: string,
  ): Promise<{ position: number; value: unknown; error: DurableError | null }[]> {
    const key = { environmentId: this.#environmentId, runId: decodeId("run", runId) as Uuid<"run"> };
    return (await listJournals(this.#server.db, [key])).map(({ position, value, error }) => ({
      position,
      value: value === null ? null : JSON.parse(value),
      error: error === null ? null : JSON.parse(error),
    }));
  }
}

export const creationOf = (
  bundle_digest: string,
  bundle_format_version: number,
  tasks: EntrypointDeclaration[],
): CreateDeployment => ({
  manifest: { tasks },
  bundle_digest,
  bundle_format_version,
  worker_protocol_version: 1,
});
