import { sandbox } from "@keelson/sdk";
import { chatActor } from "@keelson/sdk/ai";
import { chooseModel } from "../choose-model.ts";
import { coderScript } from "../coder-script.ts";
import { workspaceTools } from "../workspace-tools.ts";

/** Each conversation has a workspace of its own, which all its turns share. */
export const coder = chatActor({
  id: "coder",
  sandbox: sandbox({ id: "ai-chat-coder" }),
  model: () => chooseModel(coderScript),
  instructions: "Fix the project until its tests pass. Say your plan first, and change one thing at a time.",
  tools: workspaceTools,
  approval: ["write_file"],
});
