import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeId, type Uuid } from "@keelson/contract";
import { joinGiven, type GivenInput, type LackedInput } from "./given-inputs.ts";

const UUID = "0198c5f0-7c00-7000-8000-000000000001";
const PTY = UUID as Uuid<"pty">;
const MAT = UUID as Uuid<"mat">;
const process = { kind: "pty", id: PTY } as const;

const given = (offset: number, text: string, extra: Partial<GivenInput> = {}): GivenInput => ({
  ...{ process, materializationId: MAT, epoch: 3, controlSequence: 1, offset },
  data: Buffer.from(text),
  ...extra,
});
const found = (offset: number, text: string, closed = false): LackedInput => ({
  ...{ process, offset, closed },
  data: Buffer.from(text),
});
const heldAt = (inputOffset: number, extra: object = {}) => [
  {
    ...{ environmentId: "", materializationId: encodeId("mat", MAT), epoch: 3, stopping: false },
    processes: [
      { processId: encodeId("pty", PTY), inputOffset, inputClosed: false, controlSequence: 1, ...extra },
    ],
  },
];

const CASES: [what: string, found: LackedInput[], given: GivenInput[], from: number, expected: string][] = [
  ["goes on where the worker is", [], [given(2, "cd")], 2, "2 cd"],
  ["is put in its order", [], [given(3, "d"), given(2, "c")], 2, "2 cd"],
  ["is cut to what the worker lacks", [], [given(0, "abcd")], 2, "2 cd"],
  ["is left out when the worker has it", [], [given(0, "ab")], 2, ""],
  ["is left to a look behind a gap", [], [given(3, "d")], 2, ""],
  ["goes on with what a look found", [found(2, "cd")], [given(3, "de")], 2, "2 cde"],
  ["is left out when a look found all", [found(2, "cd")], [given(2, "cd")], 2, "2 cd"],
  ["is nothing after the end of the input", [found(2, "cd", true)], [given(4, "e")], 2, "2 cd"],
  ["is left to a look after a control", [], [given(2, "c", { controlSequence: 2 })], 2, ""],
  ["is not given under another epoch", [], [given(2, "c", { epoch: 4 })], 2, ""],
];
for (const [what, before, inputs, from, expected] of CASES) {
  test(`given input ${what}`, () => {
    const joined = joinGiven(before, inputs, heldAt(from));
    assert.equal(joined.map(({ offset, data }) => `${offset} ${data.toString()}`).join(), expected);
  });
}

test("given input of a process that the worker lacks, or whose input it has to its end, is left to a look", () => {
  assert.deepEqual(joinGiven([], [given(2, "c")], []), []);
  assert.deepEqual(joinGiven([], [given(2, "c")], heldAt(2, { inputClosed: true })), []);
});
