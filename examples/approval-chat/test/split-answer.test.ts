import assert from "node:assert/strict";
import { test } from "node:test";
import { joinAnswer, splitAnswer, type Answer } from "../src/split-answer.ts";

async function split(pieces: readonly string[]): Promise<{ shown: string[]; answer: Answer }> {
  async function* source() {
    yield* pieces;
  }
  const answer = splitAnswer(source());
  const shown: string[] = [];
  for (let next = await answer.next(); ; next = await answer.next()) {
    if (next.done) return { shown, answer: next.value };
    shown.push(next.value);
  }
}

const cases: [what: string, text: string, expected: Answer][] = [
  [
    "an answer without an action",
    "Hello there.\nHow are you?\n",
    { text: "Hello there.\nHow are you?\n", action: null },
  ],
  ["an action in its last line", "I can.\nACTION: delete it", { text: "I can.", action: "delete it" }],
  [
    "empty lines around the action",
    "I can.\n\n  ACTION: delete it \n",
    { text: "I can.", action: "delete it" },
  ],
  ["lines after the action", "I can.\nACTION: delete it\nRight?", { text: "I can.", action: "delete it" }],
  ["an action alone", "ACTION: delete it", { text: "", action: "delete it" }],
  [
    "the word inside of a line",
    "The line ACTION: is no action",
    { text: "The line ACTION: is no action", action: null },
  ],
  ["a line that only begins like it", "One\nACT three", { text: "One\nACT three", action: null }],
  ["an action without words", "One\nACTION: ", { text: "One\nACTION: ", action: null }],
  ["nothing", "", { text: "", action: null }],
];

for (const [what, text, expected] of cases) {
  test(`an answer is split the same way however its pieces are cut: ${what}`, async () => {
    for (let size = 1; size <= text.length + 1; size += 1) {
      const pieces = text.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
      const { shown, answer } = await split(pieces);
      assert.deepEqual(answer, expected, `in pieces of ${size}`);
      assert.equal(shown.join(""), expected.text);
    }
  });
}

test("pieces that cannot be an action are passed on as they come", async () => {
  const { shown } = await split(["I ", "can ", "do ", "that.\n", "ACT", "ION: this"]);
  assert.deepEqual(shown, ["I ", "can ", "do ", "that."]);
});

test("the model is told its answer as it wrote it", () => {
  assert.equal(joinAnswer({ text: "I can.", action: "delete it" }), "I can.\nACTION: delete it");
  assert.equal(joinAnswer({ text: "I can.", action: null }), "I can.");
});
