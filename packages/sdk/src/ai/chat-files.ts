import type { FileUIPart, UIMessage } from "ai";
import { encodeBase64 } from "../client/base64.ts";
import { NotFoundError } from "../client/errors.ts";
import type { SessionFilesApi } from "../client/session-files.ts";

/** Files of the session in messages of a chat: a part has the id of the file as its URL, which means nothing elsewhere. */

const URL_OF_FILE = /^keelson:(file_[0-9a-z]{26})$/;

export const urlOfFile = (id: string): string => `keelson:${id}`;

/** The id of the file that a part names; null for any other URL. */
export const fileIdOf = (url: string): string | null => URL_OF_FILE.exec(url)?.[1] ?? null;

type Part = UIMessage["parts"][number];

/** A file as the model is given it. Its type is that of the upload, whatever the page says. */
async function loadFile(files: SessionFilesApi, sessionId: string, id: string): Promise<Part> {
  try {
    const { mediaType, name } = await files.get(sessionId, id);
    const bytes = await files.read(sessionId, id);
    const url = `data:${mediaType};base64,${encodeBase64(bytes)}`;
    return { type: "file", mediaType, url, ...(name !== null && { filename: name }) } satisfies FileUIPart;
  } catch (error) {
    // The page may name anything. The conversation goes on without it, now and in all its later turns.
    if (error instanceof NotFoundError) return { type: "text", text: "(A file that is not there.)" };
    throw error;
  }
}

/** The messages with the content of the files that they name. */
export const loadFiles = (
  files: SessionFilesApi,
  sessionId: string,
  messages: readonly UIMessage[],
): Promise<UIMessage[]> =>
  Promise.all(
    messages.map(async (message) => ({
      ...message,
      parts: await Promise.all(
        message.parts.map(async (part) => {
          const id = part.type === "file" ? fileIdOf(part.url) : null;
          return id === null ? part : loadFile(files, sessionId, id);
        }),
      ),
    })),
  );

/** What a browser shows and does not run. */
const SHOWN = /^(image\/(?!svg)|audio\/|video\/)/;

/** A part's file for a page. Of other types than pictures, sound and films a browser is told nothing, so that it runs none in the page's origin. */
export const toBlob = (bytes: Uint8Array, mediaType: string): Blob =>
  new Blob([bytes], {
    type: SHOWN.test(mediaType) ? mediaType : "application/octet-stream",
  });
