import { ERROR_CODES } from "../../packages/contract/src/index.ts";
import { code, page, table } from "./markdown.ts";

const SHAPE = `Every failure of every route has this body:

\`\`\`json
{
  "error": {
    "code": "not_found",
    "message": "What happened, and what to do next.",
    "details": null,
    "request_id": "01936f5e-7c2a-7b64-8d10-0c9c1f0a7b11"
  }
}
\`\`\`

\`code\` is stable and is what programs decide by; \`message\` is for people and says what to do in the case at hand.
\`request_id\` is also the header \`X-Request-Id\`, and finds the request in the server's log. The SDK throws an
\`ApiError\` with all of it, of the class of its status: see [the SDK](sdk.md#errors).

Repeating is safe after 408, 429 and 507, which had no effect. It is safe after 503, and after a lost connection for reads and for whatever carries an idempotency key.`;

export function errorsPage(): string {
  const codes = Object.entries(ERROR_CODES).toSorted(([, a], [, b]) => a.status - b.status);
  const rows = codes.map(([name, { status, summary, action }]) => [
    String(status),
    code(name),
    summary,
    action,
  ]);
  return page("Errors", SHAPE, table([["status", "code", "means", "what to do"], ...rows]));
}
