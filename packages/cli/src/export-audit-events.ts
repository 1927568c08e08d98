import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { AdminClient } from "./cli.ts";
import { EXIT, ExitError } from "./exit-codes.ts";

const PATH = "/admin/api/v1/audit-events";

/** The events of a chain after `cursor`, oldest first, one line of JSON each, as they come. */
export async function* exportAuditEvents(
  { client, credentials }: AdminClient,
  query: { organization_id?: string | undefined; cursor?: string | undefined },
  signal: AbortSignal,
): AsyncGenerator<string> {
  // With the client's errors and retries: what is refused is refused here already.
  await client.request({
    method: "GET",
    path: PATH,
    query: { organization_id: query.organization_id, limit: 1 },
    signal,
  });
  const url = new URL(`${credentials.url.replace(/\/+$/, "")}${PATH}/export`);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, value);
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${credentials.credential}` },
    signal,
  });
  if (response.status !== 200 || response.body === null)
    throw new ExitError(
      EXIT.failure,
      `The export was answered with ${response.status}: ${await response.text()}`,
    );
  const body = Readable.fromWeb(response.body);
  for await (const line of createInterface({ input: body, crlfDelay: Infinity })) yield line;
}
