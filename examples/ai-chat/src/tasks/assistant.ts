import { chatActor } from "@keelson/sdk/ai";
import { assistantScript } from "../assistant-script.ts";
import { chooseModel } from "../choose-model.ts";
import { check, restart } from "../servers.ts";

export const assistant = chatActor({
  id: "assistant",
  model: () => chooseModel(assistantScript),
  instructions: "You look after the servers web, db and mail. Answer in one or two sentences.",
  tools: { check, restart },
  approval: ["restart"],
});
