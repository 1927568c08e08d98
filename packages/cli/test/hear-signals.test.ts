import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { hearSignals } from "../src/hear-signals.ts";

type Heard = { at: number; name: string };

/** What becomes of these: null, or when the process left without waiting. */
function hear(heard: readonly Heard[], { inOrder = true, isAtTerminal = true } = {}) {
  const source = new EventEmitter();
  let now = 0;
  let leftAt: number | null = null;
  const requests = hearSignals({
    source: source as unknown as NodeJS.Process,
    isAtTerminal: () => isAtTerminal,
    monotonic: () => now,
    leave: () => (leftAt ??= now),
  });
  if (inOrder) requests.endInOrder();
  for (const { at, name } of heard) {
    now = at;
    source.emit(name);
  }
  return { isAsked: requests.signal.aborted, leftAt };
}

const at = (name: string, ...times: number[]): Heard[] => times.map((time) => ({ at: time, name }));

test("what is passed on to the process again within a second is one request", () => {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "disconnect"])
    for (const inOrder of [true, false])
      assert.deepEqual(hear(at(name, 5, 6, 10, 1_000), { inOrder }), { isAsked: true, leftAt: null });
});

test("parts that end in order are left only by a second Ctrl-C on a terminal", () => {
  assert.equal(hear(at("SIGINT", 0, 1_500)).leftAt, 1_500);
  assert.equal(hear([...at("SIGTERM", 0), ...at("SIGINT", 1_500)]).leftAt, 1_500);
  assert.equal(hear(at("SIGINT", 0, 1_500), { isAtTerminal: false }).leftAt, null);
  for (const name of ["SIGTERM", "SIGHUP", "SIGQUIT", "disconnect"])
    assert.equal(hear(at(name, 0, 1_500, 60_000)).leftAt, null);
});

test("a command without parts is left by any second signal", () => {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
    assert.equal(hear(at(name, 0, 1_500), { inOrder: false, isAtTerminal: false }).leftAt, 1_500);
});
