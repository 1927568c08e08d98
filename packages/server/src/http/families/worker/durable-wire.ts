import { decodeId, encodeId, type JournalKind } from "@keelson/contract";
import { readOrigin, type Keyring, type StoredOrigin } from "../../../core/credentials/credential-origin.ts";
import { callbackUrl, deriveTokenSecrets } from "../../../core/tokens/token-secrets.ts";
import type { OperationValue } from "../../../core/leases/report-batch.ts";
import type { JournalRow } from "../../../core/journal/journal-reads.ts";
import type { LeasedWaits, WaitRow } from "../../../core/waits/wait-reads.ts";
import { waitValueJson } from "../../resources/runs/call-wire.ts";
import { toTimestamp } from "../../edge/time.ts";

/** Journals and waits as JSON text: the values in them are stored as JSON text and go out as they are. */

const text = JSON.stringify;
const timeOrNull = (ms: number | null): string => (ms === null ? "null" : `"${toTimestamp(ms)}"`);

export const waitJson = (wait: WaitRow): string =>
  `{"id":"${encodeId("wait", wait.id)}","position":${wait.position},"place":${wait.place},"kind":"${wait.kind}","name":${text(wait.name)}` +
  `,"status":"${wait.status}","timeout_at":${timeOrNull(wait.timeoutAt)},"value":${waitValueJson(wait)}}`;

/** What a token's secrets are made from. */
export type TokenSource = { keyring: Keyring; publicUrl: () => string };

/**
 * The journal has a token's id and the origin of its secrets. They follow from these, and the run that created the token is told
 * them each time.
 */
function tokenValueJson(value: string, { keyring, publicUrl }: TokenSource): string {
  const kept = JSON.parse(value) as { id: string; timeout_at: string } & StoredOrigin;
  const id = decodeId("tok", kept.id);
  if (id === null) throw new Error(`A journal has ${kept.id} for a token.`);
  const { publicAccessToken, callbackSecret } = deriveTokenSecrets(keyring, id, readOrigin(kept));
  return text({
    id: kept.id,
    timeout_at: kept.timeout_at,
    public_access_token: publicAccessToken,
    callback_url: callbackUrl(publicUrl(), id, callbackSecret),
  });
}

const outcomeJson = (kind: JournalKind, value: string | null, source: TokenSource): string =>
  kind === "token" && value !== null ? tokenValueJson(value, source) : (value ?? "null");

/** Of a wait, the value is the state that the code saw. */
export const journalEntryJson = (entry: JournalRow, wait: WaitRow | undefined, source: TokenSource): string =>
  `{"position":${entry.position},"place":${entry.place},"kind":"${entry.kind}","name":${text(entry.name)}` +
  `,"value":${wait === undefined ? outcomeJson(entry.kind, entry.value, source) : waitJson(wait)}` +
  `,"error":${entry.error ?? "null"},"attempt_number":${entry.attemptNumber}}`;

export const resumptionJson = ({ runId, leaseId, epoch, waits }: LeasedWaits): string =>
  `{"run_id":"${encodeId("run", runId)}","lease_id":"${encodeId("lease", leaseId)}","epoch":${epoch}` +
  `,"waits":[${waits.map(waitJson).join(",")}]}`;

export function operationValueJson(value: OperationValue, source: TokenSource): string {
  switch (value.kind) {
    case "waits":
      return `{"parked":${value.parked},"waits":[${value.waits.map(waitJson).join(",")}]}`;
    case "effect":
      return `{"value":${outcomeJson(value.entry, value.value, source)},"error":${value.error ?? "null"}}`;
  }
}
