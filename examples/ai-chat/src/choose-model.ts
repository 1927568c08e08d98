import { gateway, type LanguageModel } from "ai";
import { scriptedModel, type Script } from "./scripted-model.ts";

const DEFAULT_MODEL = "openai/gpt-5-mini";

/**
 * A real model when the worker's environment has the key of the AI Gateway, which `gateway` reads itself. Otherwise the script, which needs
 * no key.
 */
export const chooseModel = (script: Script): LanguageModel =>
  process.env["AI_GATEWAY_API_KEY"]
    ? gateway(process.env["AI_CHAT_MODEL"] || DEFAULT_MODEL)
    : scriptedModel(script);
