import { task } from "@keelson/sdk";
export const hello = task({ id: "hello", run: async (payload: { name?: string; fail?: boolean; sleep?: number }, ctx) => {
  console.log("hello", payload?.name);
  if (payload?.sleep) await new Promise((r) => setTimeout(r, payload.sleep));
  if (payload?.fail) throw new Error("asked to fail");
  return { greeting: "hello " + payload?.name, attempt: ctx.attempt.number };
} });
export const noop = task({ id: "noop", execution: "shared", run: async () => null });
