import { idempotencyKeyOf } from "@keelson/sdk/ai";
import { tool } from "ai";
import { z } from "zod";

export const SERVERS = ["web", "db", "mail"] as const;

const inputSchema = z.object({ name: z.enum(SERVERS) });

export const check = tool({
  description: "Says how a server is.",
  inputSchema,
  execute: ({ name }) => ({ name, status: "running", load: name === "db" ? 0.83 : 0.21 }),
});

/** Stands where the real thing would be done. The key is the same in each try, so that it is done once. */
export const restart = tool({
  description: "Restarts a server.",
  inputSchema,
  execute: ({ name }, options) => ({ restarted: name, key: idempotencyKeyOf(options) }),
});
