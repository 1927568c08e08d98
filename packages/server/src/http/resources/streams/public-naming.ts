import { ExternalId } from "@keelson/contract";
import type { TProperties } from "typebox";
import { Text, type Params } from "../../edge/params.ts";
import type { SessionAddress } from "../sessions/naming.ts";

/** How a path for browsers names the session. */
export type PublicNaming = { item: string; suffix: string; params: Params; query: TProperties };

export const PUBLIC_NAMINGS: readonly PublicNaming[] = [
  { item: ":id", suffix: "", params: { id: Text() }, query: {} },
  { item: "by-external-id", suffix: "ByExternalId", params: {}, query: { external_id: ExternalId } },
];

export type PublicNamed = { params: unknown; query: unknown };

export function addressOf({ params, query }: PublicNamed): SessionAddress {
  const { id } = params as { id?: string };
  return id === undefined ? { externalId: (query as { external_id: string }).external_id } : { id };
}

export const SCOPE_REFUSALS =
  " Another session, stream, direction or correlation id than the token's is 403 `scope_mismatch` and counts as no use; a token that is " +
  "unknown, expired or spent is 401.";
