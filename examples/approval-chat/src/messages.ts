/** One message as a model takes it. `outcome` is the outcome of the action that the assistant asked for. */
export type Message = { role: "system" | "user" | "assistant" | "outcome"; content: string };

/** The last line of an answer, when it begins with this, is an action that the assistant wants to take. */
export const ACTION_MARK = "ACTION:";

export const INSTRUCTIONS: Message = {
  role: "system",
  content: `You look after a few servers for a small team. Answer in one or two sentences.
When you are asked to do something, say what you are about to do, and end the answer with one more line:
${ACTION_MARK} <what you will do, in a few words>
A person is asked for approval then, and you are told the outcome. Never say that something is done before that.`,
};
