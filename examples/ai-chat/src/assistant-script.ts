import type { LanguageModelV4FilePart } from "@ai-sdk/provider";
import { resultsSince, saidIn, type Result, type Said } from "./read-prompt.ts";
import type { Script, Turn } from "./scripted-model.ts";
import { SERVERS } from "./servers.ts";

const HELP =
  "I am a short script in place of a model. Try “check all servers”, “restart web”, “count to 200”, “why is db slow?” or “what did I say first?”, or attach a file.";

/** What stands in the file, when it is text, or how large it is. */
function describeFile({ mediaType, filename = "It", data }: LanguageModelV4FilePart): string {
  if (data.type !== "data") return `${filename} has the type ${mediaType}.`;
  const bytes = typeof data.data === "string" ? Buffer.from(data.data, "base64") : Buffer.from(data.data);
  const [first = ""] = bytes.toString().split("\n");
  const begins = mediaType.startsWith("text") ? `, and begins with “${first.slice(0, 80)}”` : "";
  return `${filename} has the type ${mediaType} and ${bytes.length} bytes${begins}.`;
}

const wordsOf = ({ name, load }: { name: string; load: number }): string =>
  `${name} runs at a load of ${load}.`;

/** One server after the other, and then how they are. */
function checkServers(asked: string, results: Result[]): Turn {
  const named = SERVERS.filter((name) => asked.includes(name));
  const next = (named.length > 0 ? named : SERVERS)[results.length];
  if (next !== undefined) return { text: `I look at ${next}.`, call: ["check", { name: next }] };
  return { text: results.map(({ value }) => wordsOf(value as Parameters<typeof wordsOf>[0])).join(" ") };
}

function tellOutcome({ value, isRefused }: Result): Turn {
  if (isRefused) return { text: "All right, I have left everything as it is." };
  return { text: `Done: ${(value as { restarted: string }).restarted} has been restarted.` };
}

function answerTo({ text, files }: Said, said: Said[]): Turn {
  const restarted = SERVERS.find((name) => text.toLowerCase().includes(name));
  const upTo = Number(/count to (\d+)/i.exec(text)?.[1] ?? 0);
  if (files.length > 0) return { text: files.map(describeFile).join(" ") };
  if (/restart/i.test(text) && restarted !== undefined)
    return { text: "I have to ask before I do that.", call: ["restart", { name: restarted }] };
  if (upTo > 0) return { text: Array.from({ length: Math.min(upTo, 2_000) }, (_, at) => at + 1).join(" ") };
  if (/first/i.test(text)) return { text: `The first thing you said was “${said[0]?.text}”.` };
  if (/why/i.test(text))
    return {
      reasoning: "A database that is slow has either too much to do or too little memory. Its load is high.",
      text: "It has a lot to do: its load is 0.83.",
    };
  return { text: `You said “${text}”. ${HELP}` };
}

/** Looks after a few servers. */
export const assistantScript: Script = (prompt) => {
  const said = saidIn(prompt);
  const last = said.at(-1) ?? { text: "", files: [] };
  const results = resultsSince(prompt);
  if (/check|how are/i.test(last.text)) return checkServers(last.text.toLowerCase(), results);
  const result = results.at(-1);
  return result === undefined ? answerTo(last, said) : tellOutcome(result);
};
