/**
 * Hooks for React: a run, a session and a completion token, live, with public access tokens alone. Chats of the AI SDK have a hook of their own
 * in `@keelson/sdk/ai/react`.
 */
export type { LiveStatus } from "./react/live-store.ts";
export { useRun, type LiveRun, type RunTarget } from "./react/use-run.ts";
export { useSession, type LiveSession, type SessionView } from "./react/use-session.ts";
export { useToken, type LiveToken, type TokenTarget } from "./react/use-token.ts";
