import { LIMITS, type CreateSandboxWorkspace } from "@keelson/contract";
import { createWorkspace, resolveOrigin } from "../../../core/workspaces/create-workspace.ts";
import { invalidRequest } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { keepReply, type ReplyKey } from "../../edge/keep-reply.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "../../edge/route.ts";
import { toWorkspace } from "./wire.ts";

/** @throws DomainError `invalid_request` when it is too large. */
export function metadataText(metadata: Record<string, unknown> | undefined): string | null {
  if (metadata === undefined) return null;
  const text = JSON.stringify(metadata);
  if (Buffer.byteLength(text) > LIMITS.metadataBytes)
    throw invalidRequest([{ path: "metadata", message: `may have ${LIMITS.metadataBytes} bytes at most` }]);
  return text;
}

function checkExternalId(externalId: string | null): void {
  if (externalId !== null && Buffer.byteLength(externalId) > LIMITS.externalIdBytes)
    throw invalidRequest([
      { path: "external_id", message: `may have ${LIMITS.externalIdBytes} bytes at most` },
    ]);
}

/**
 * Creates a workspace once a key.
 *
 * @param sandbox the declared id of the path's sandbox, else the body's.
 */
export async function createKeptWorkspace(
  call: {
    server: ServerContext;
    scope: EnvironmentScope;
    body: CreateSandboxWorkspace;
    request: RequestFacts;
  },
  sandbox: string | null,
  key: ReplyKey,
): Promise<Reply> {
  const { server, scope, body } = call;
  const { environmentId, projectId } = scope;
  const now = server.clock();
  const externalId = body.external_id ?? null;
  checkExternalId(externalId);
  const metadata = metadataText(body.metadata);
  const wanted = { sandbox, fromVersionId: body.from_version_id ?? null };
  // A repeat is answered as the first time even when what it names has gone since.
  const origin = await resolveOrigin(server, environmentId, wanted).catch((error: unknown) => ({ error }));
  return keepReply(call, key, async (tx) => {
    if ("error" in origin) throw origin.error;
    const tags = body.tags ?? null;
    const creation = { environmentId, projectId, origin, externalId, metadata, tags, now };
    const workspace = await createWorkspace(tx, server.newUuid, creation);
    return { status: 201, body: toWorkspace(workspace) };
  });
}
