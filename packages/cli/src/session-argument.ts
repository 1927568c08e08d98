import type { SessionHandle } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "./cli.ts";
import { checkIsNoExternalId } from "./check-is-id.ts";

export type SessionFlags = { externalId?: boolean };

/** An id and an external id look alike to a shell; the flag says which was meant. */
export const addSessionArgument = (command: Command): Command =>
  command
    .argument("<session>", "its id")
    .option("-x, --external-id", "the argument is an external id: the open session of it, else the newest");

export async function openSession(
  cli: Cli,
  session: string,
  { externalId }: SessionFlags,
): Promise<SessionHandle> {
  if (externalId !== true) checkIsNoExternalId("session", "sess", session);
  const { sessions } = await cli.client();
  return sessions.open(externalId === true ? { externalId: session } : session);
}
