import {
  InterruptedError,
  TokenCancelledError,
  TokenExpiredError,
  type RunContext,
  type RunToken,
} from "@keelson/sdk";
import type { ChatRecord, Outcome } from "./chat-records.ts";

const EXPIRES_AFTER_SECONDS = Number(process.env["APPROVAL_CHAT_EXPIRES_AFTER_SECONDS"] || 15 * 60);

/**
 * Asks for approval on the output stream and waits for it. Meanwhile the run holds no slot, and after a while no process:
 * it goes on when the token is completed, on any worker, with what it had.
 */
export async function askApproval(
  action: string,
  say: (record: ChatRecord) => Promise<void>,
  ctx: RunContext,
): Promise<{ outcome: Outcome; tokenId: string }> {
  const expiresAt = new Date(ctx.now().getTime() + EXPIRES_AFTER_SECONDS * 1000).toISOString();
  const token = await ctx.tokens.create({
    timeout: `${EXPIRES_AFTER_SECONDS}s`,
    metadata: { action },
    tags: ["approval"],
  });
  // Who reads the stream may decide. Give the token to somebody else in another way to have them decide instead.
  const { id: tokenId, publicAccessToken } = token;
  await say({ type: "approval", action, tokenId, publicAccessToken, expiresAt });
  const outcome = await waitForDecision(token);
  await say({ type: "decision", tokenId, outcome });
  return { outcome, tokenId };
}

async function waitForDecision(token: RunToken): Promise<Outcome> {
  try {
    // It is JSON from a browser: nothing but the word itself is a yes.
    const decision = (await token.wait()) as { approved?: unknown } | null;
    return decision?.approved === true ? "approved" : "refused";
  } catch (error) {
    if (error instanceof TokenExpiredError) return "expired";
    if (error instanceof TokenCancelledError) return "refused";
    if (error instanceof InterruptedError) return "stopped";
    throw error;
  }
}
