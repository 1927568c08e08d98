import { encodeId } from "@keelson/contract";
import { storeOrigin, type CredentialOrigin } from "../../../core/credentials/credential-origin.ts";
import type { TokenRefusal } from "../../../core/tokens/token.ts";
import type { TokenRow } from "../../../core/tokens/token-reads.ts";
import type { CancelOutcome } from "../../../core/tokens/cancel-token.ts";
import type { CompletionOutcome } from "../../../core/tokens/complete-tokens.ts";
import { DomainError } from "../../../domain-error.ts";
import type { Refusal, Reply } from "../../edge/route.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

const text = JSON.stringify;

/** A token as JSON text: its data and metadata are stored as JSON text and go out as they are. */
export const tokenJson = (token: TokenRow): string => `{${fields(token)}}`;

/** What is kept of a creation for its repeats: the token, and the origin of its secrets. */
export const keptTokenJson = (token: TokenRow, origin: CredentialOrigin): string =>
  `{${keptOrigin(origin)}${fields(token)}}`;

/** The token of what is kept. */
export const withoutOrigin = (kept: string, origin: CredentialOrigin): string =>
  `{${kept.slice(1 + keptOrigin(origin).length)}`;

const keptOrigin = (origin: CredentialOrigin): string =>
  Object.entries(storeOrigin(origin))
    .map(([name, value]) => `${text(name)}:${text(value)},`)
    .join("");

/** The same with what only the answer to its creation has. */
export const createdTokenJson = (
  tokenText: string,
  secrets: { publicAccessToken: string; callbackUrl: string },
): string =>
  `${tokenText.slice(0, -1)},"public_access_token":${text(secrets.publicAccessToken)},"callback_url":${text(secrets.callbackUrl)}}`;

const fields = (token: TokenRow): string =>
  `"id":"${encodeId("tok", token.id)}","project_id":"${encodeId("proj", token.projectId)}"` +
  `,"environment_id":"${encodeId("env", token.environmentId)}","status":"${token.status}","data":${token.data ?? "null"}` +
  `,"timeout_at":"${toTimestamp(token.timeoutAt)}","metadata":${token.metadata ?? "{}"},"tags":${text(token.tags ?? [])}` +
  `,"run_id":${token.runId === null ? "null" : `"${encodeId("run", token.runId)}"`}` +
  `,"completed_at":${text(toTimestampOrNull(token.completedAt))},"completed_by":${completerJson(token)}` +
  `,"created_at":"${toTimestamp(token.createdAt)}","updated_at":"${toTimestamp(token.updatedAt)}"`;

function completerJson({ completedByKind: kind, completedById: id }: TokenRow): string {
  if (kind === null) return "null";
  const shown =
    id === null
      ? null
      : kind === "api_key"
        ? encodeId("key", id)
        : kind === "user"
          ? encodeId("user", id)
          : kind === "run"
            ? encodeId("run", id)
            : id;
  return text({ kind, id: shown });
}

/** What whoever completes a token is told. */
export function completionReply(outcome: CompletionOutcome): Reply | Refusal {
  if (outcome.status === "refused") return toRefusal(outcome.refusal);
  return { status: 200, json: `{"status":"${outcome.status}","token":${tokenJson(outcome.token)}}` };
}

export const cancelReply = (outcome: CancelOutcome): Reply | Refusal =>
  outcome.status === "refused" ? toRefusal(outcome.refusal) : { status: 200, json: tokenJson(outcome.token) };

const toRefusal = ({ code, message }: TokenRefusal): Refusal => ({ refusal: new DomainError(code, message) });
