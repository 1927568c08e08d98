import { decodeId, LIMITS, StoredBlob, type Uuid } from "@keelson/contract";
import { Type } from "typebox";
import { findBlob, groupServes } from "../../../core/blobs/blob-reads.ts";
import { storeBlob } from "../../../core/blobs/store-blob.ts";
import { invalidRequest, notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { Text } from "../../edge/params.ts";
import { requireBytes } from "../../edge/raw-body.ts";
import type { Reply, RouteDefinition, WorkerScope } from "../../edge/route.ts";
import { bothMounts } from "./mounts.ts";

const tag = "blobs";
const worker = { kind: "worker" } as const;
const HEX_DIGEST = /^[0-9a-f]{64}$/;
const OCTETS = "application/octet-stream";

const params = { digest: Text() };
const query = Type.Object(
  {
    environment_id: Type.String({
      maxLength: 64,
      description: "Whose it is: every environment has its own blobs.",
    }),
  },
  { additionalProperties: false },
);

/** The environment of a request, when the worker's group serves it. */
async function requireEnvironment(
  server: ServerContext,
  { workerGroupId }: WorkerScope,
  text: string,
): Promise<Uuid<"env">> {
  const id = decodeId("env", text);
  if (id === null || !(await groupServes(server.db, workerGroupId, id))) throw notFound();
  return id;
}

async function sendBlob(server: ServerContext, environmentId: Uuid<"env">, digest: string): Promise<Reply> {
  const known =
    HEX_DIGEST.test(digest) &&
    (await findBlob(server.db, environmentId, Buffer.from(digest, "hex"))) !== null;
  const blob = known ? await server.workspaceBlobs(environmentId).read(digest) : null;
  if (known && blob === null) throw new Error(`The bytes of blob ${digest} are not in the blob store.`);
  if (blob === null) throw notFound();
  return {
    status: 200,
    bytes: blob.bytes,
    contentType: OCTETS,
    headers: {
      "content-length": String(blob.sizeBytes),
      etag: `"${digest}"`,
    },
  };
}

export const blobRoutes: RouteDefinition[] = [
  ...bothMounts(tag, {
    method: "PUT",
    path: "/blobs/:digest",
    name: "putBlob",
    summary: "Store a blob",
    description:
      "Stores a piece of files, or a manifest, under the SHA-256 of the sent bytes; other bytes are 400. It is durable when the response arrives, " +
      "and kept for a day until a version refers to it. A repeated request extends that day.",
    access: worker,
    params,
    query,
    rawBody: { bodyLimitBytes: LIMITS.blobBytes, mediaType: OCTETS },
    responses: { 200: { description: "Stored.", schema: StoredBlob } },
    handle: async ({ server, scope, params: { digest }, query: { environment_id }, body }) => {
      const environmentId = await requireEnvironment(server, scope, environment_id);
      if (!HEX_DIGEST.test(digest)) {
        throw invalidRequest([
          { path: "digest", message: "must be the SHA-256 of the bytes in 64 lower-case hexadecimal digits" },
        ]);
      }
      await server.storageQuota.admit(environmentId);
      const { sizeBytes } = await storeBlob(server, environmentId, digest, requireBytes(body));
      server.storageQuota.noteStored(environmentId, sizeBytes);
      return { status: 200, body: { digest, size_bytes: sizeBytes } };
    },
  }),
  ...bothMounts(tag, {
    method: "GET",
    path: "/blobs/:digest",
    name: "getBlob",
    summary: "Read a blob",
    description:
      "The bytes with this SHA-256. HEAD says whether they are stored. Bytes that are being removed are 404.",
    access: worker,
    params,
    query,
    responses: { 200: { description: "The bytes.", mediaType: OCTETS } },
    handle: async ({ server, scope, params: { digest }, query: { environment_id } }) =>
      sendBlob(server, await requireEnvironment(server, scope, environment_id), digest),
  }),
];
