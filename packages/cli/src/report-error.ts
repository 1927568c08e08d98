import { ERROR_CODES } from "@keelson/contract/plain";
import { ApiError, ConnectionError } from "@keelson/sdk";
import { CommanderError } from "commander";
import { BundleError } from "./bundle/bundle-error.ts";
import { paint, type Host } from "./cli.ts";
import type { WireJson } from "./wire-json.ts";
import { ExitError } from "./exit-codes.ts";
import { visibleText } from "./terminal/visible.ts";

/**
 * Writes why a command failed; with --json as one object, as the server's own errors are.
 * @param noun what the command takes an id of; null when there is no list of these
 */
export function reportError(host: Host, error: unknown, wire: WireJson | null, noun: string | null): void {
  // Commander has written its own.
  if (error instanceof CommanderError || (error instanceof ExitError && error.message === "")) return;
  const { stderr } = host;
  if (wire !== null) {
    const cause = error instanceof ExitError ? error.cause : error;
    const known = cause instanceof ApiError ? cause : null;
    const message = error instanceof Error ? error.message : String(error);
    stderr.write(
      `${wire.text({ error: { code: known?.code ?? "failed", message, details: known?.details ?? null, request_id: known?.requestId ?? null } })}\n`,
    );
    return;
  }
  const label = paint(stderr, "red", "error:");
  if (error instanceof ApiError) {
    const [first, ...others] = linesOf(error);
    stderr.write(`${label} ${visibleText(first ?? "")}\n`);
    for (const line of others) stderr.write(`  ${visibleText(line)}\n`);
    const id = error.requestId === null ? "" : `, request ${error.requestId}`;
    stderr.write(paint(stderr, "dim", `  (${error.code}${id})\n`));
    if (error.status === 401)
      stderr.write("  Sign in again with `keelson login`, or give an API key that is in use.\n");
    if (noun !== null && error.message.startsWith(ERROR_CODES.not_found.summary))
      stderr.write(`  List the ${noun}s: \`keelson ${noun} list\`.\n`);
    if (error instanceof ConnectionError)
      stderr.write(
        "  Start the server with `keelson up`, or correct its address: --url, KEELSON_URL, or a profile.\n",
      );
    if (error.outcomeUnknown)
      stderr.write(
        "  It may have been done all the same: look before repeating it, or use an idempotency key.\n",
      );
    return;
  }
  const expected =
    error instanceof ExitError ||
    error instanceof BundleError ||
    (error instanceof Error && error.name === "ConfigError");
  const message = error instanceof Error ? error.message : String(error);
  const said = expected || !(error instanceof Error) ? message : (error.stack ?? message);
  stderr.write(`${label} ${visibleText(said)}\n`);
}

/** The message, and what is wrong with each field; only the fields where the message says nothing else. */
function linesOf({ message, issues }: ApiError): string[] {
  const fields = issues.map((issue) => `${issue.path}: ${issue.message}`);
  return fields.length > 0 && message.startsWith(fields.join("; ")) ? fields : [message, ...fields];
}
