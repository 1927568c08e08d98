import type { FileUIPart } from "ai";
import type { Draft } from "./chat-message.ts";

/** A record of a stream holds 256 KiB of JSON. A file is a data URL in it, which is a third longer than the file. */
const MAX_MESSAGE_BYTES = 250_000;
const LIMIT = "A message holds up to 180 KB of files.";

const readDataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result as string));
    reader.addEventListener("error", () => reject(new Error(`${file.name} cannot be read.`)));
    reader.readAsDataURL(file);
  });

async function isText(file: File): Promise<boolean> {
  const bytes = await file.arrayBuffer();
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

async function toPart(file: File): Promise<FileUIPart> {
  const isImage = file.type.startsWith("image/");
  if (!isImage && !(await isText(file))) throw new Error(`${file.name} is neither an image nor a text file.`);
  const mediaType = isImage ? file.type : "text/plain";
  const url = (await readDataUrl(file)).replace(/^data:[^,]*,/, `data:${mediaType};base64,`);
  return { type: "file", mediaType, filename: file.name, url };
}

/** Reads what a person has picked. Rejects with a sentence for that person when it can be no attachment. */
export async function readFiles(picked: readonly File[]): Promise<FileUIPart[]> {
  for (const { size, name } of picked)
    // Reading it would only take long.
    if (size > MAX_MESSAGE_BYTES) throw new Error(`${name} is too large. ${LIMIT}`);
  return Promise.all(picked.map(toPart));
}

/** A sentence for the person when a message is too large. */
export function problemWith({ text, files }: Draft): string | null {
  const bytes = new TextEncoder().encode(JSON.stringify({ text, files })).length;
  return bytes > MAX_MESSAGE_BYTES ? `The files are too large. ${LIMIT}` : null;
}
