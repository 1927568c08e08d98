/** Tests of tasks, actors and chats in the process of the test, without a server, by any test runner. */
export { runTask, type RunTaskOptions, type TestControls, type TestRun } from "./testing/run-task.ts";
export type { TestOptions } from "./testing/harness.ts";
export type { TestClient } from "./testing/test-client.ts";
export type { EndedRun, RunView, TestStep } from "./testing/run-view.ts";
export type { TestToken } from "./testing/test-tokens.ts";
export { NondeterministicReplayError } from "./runtime/durable/replay.ts";
export { openSession, type OpenSessionOptions, type TestSession } from "./testing/open-session.ts";
