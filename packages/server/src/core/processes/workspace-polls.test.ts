import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uuid } from "@keelson/contract";
import type { LiveProcess } from "./look-for-processes.ts";
import { createWorkspacePolls } from "./workspace-polls.ts";

const WORKER = "w" as Uuid<"wkr">;
const PLACE = { workspaceId: "ws" as Uuid<"ws">, id: "mat" as Uuid<"mat"> };
const START = { id: "exec" } as unknown as LiveProcess;

test("a workspace has a taker while a poll that begins there is open", () => {
  const polls = createWorkspacePolls();
  const first = polls.open(WORKER, "mat 1");
  assert.equal(polls.takerOf(PLACE.workspaceId), null);
  first.beginsIn([PLACE]);
  const second = polls.open(WORKER, "mat 1");
  second.beginsIn([{ ...PLACE }]);
  first.close(false);
  assert.equal(polls.takerOf(PLACE.workspaceId), PLACE.id, "the poll that was opened later has said it, too");
  polls.give(WORKER, START);
  assert.deepEqual([first.take().starts, second.take().starts], [[], [START]]);
  second.close(false);
  assert.equal(polls.takerOf(PLACE.workspaceId), null);
});

test("a poll that follows one with nothing but what it was given begins in the same places, a few times in a row", () => {
  const polls = createWorkspacePolls();
  const first = polls.open(WORKER, "mat 1");
  assert.equal(first.isFollowUp, false);
  first.beginsIn([PLACE]);
  first.close(true);
  assert.equal(polls.takerOf(PLACE.workspaceId), null);
  let inRow = 0;
  for (let poll = polls.open(WORKER, "mat 1"); poll.isFollowUp; poll = polls.open(WORKER, "mat 1")) {
    assert.equal(polls.takerOf(PLACE.workspaceId), PLACE.id);
    poll.close(true);
    inRow += 1;
  }
  assert.equal(inRow, 4);
  // After a look they may again.
  const looks = polls.open(WORKER, "mat 1");
  looks.beginsIn([PLACE]);
  for (let poll = looks; inRow < 20; inRow += 1) {
    poll.close(true);
    poll = polls.open(WORKER, "mat 1");
    assert.equal(poll.isFollowUp, true);
    poll.beginsIn([PLACE]);
  }
});

test("a poll that follows any other has to look first", () => {
  const polls = createWorkspacePolls();
  const first = polls.open(WORKER, "mat 1");
  first.beginsIn([PLACE]);
  first.close(false);
  assert.equal(polls.open(WORKER, "mat 1").isFollowUp, false);
});

test("a worker that has other places than before has to look first, and is given nothing to begin", () => {
  const polls = createWorkspacePolls();
  for (const held of ["", "mat 1,other 1"]) {
    const first = polls.open(WORKER, "mat 1");
    first.beginsIn([PLACE]);
    first.close(true);
    const next = polls.open(WORKER, held);
    assert.deepEqual([next.isFollowUp, polls.takerOf(PLACE.workspaceId)], [false, null]);
    next.close(false);
  }
});
