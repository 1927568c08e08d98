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

/** A page may name anything. The conversation goes on without it, now and in all its later turns. */
const NOT_THERE = { type: "text", text: "(A file that is not there.)" } as const satisfies Part;
const NOT_READ = { type: "text", text: "(A file that could not be read.)" } as const satisfies Part;

/** A data URL with the type and the Base64 that models are given. */
const INLINE = /^data:[^,;]+(?:;[^,;]+)*?;base64,[A-Za-z0-9+/]*={0,2}$/;

/** Whether the URL of a part is one that a model, or whoever downloads for it, makes sense of. */
const isUsable = (url: string): boolean =>
  INLINE.test(url) || (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol));

/** A file as the model is given it. Its type is that of the upload, whatever the page says. */
async function loadFile(files: SessionFilesApi, sessionId: string, id: string): Promise<Part> {
  try {
    const { mediaType, name } = await files.get(sessionId, id);
    const bytes = await files.read(sessionId, id);
    const url = `data:${mediaType};base64,${encodeBase64(bytes)}`;
    return { type: "file", mediaType, url, ...(name !== null && { filename: name }) } satisfies FileUIPart;
  } catch (error) {
    if (error instanceof NotFoundError) return NOT_THERE;
    throw error;
  }
}

/** The messages with the content of the session's files that they name, and with a text in the place of what names no file. */
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
          if (part.type !== "file") return part;
          const id = fileIdOf(part.url);
          if (id !== null) return loadFile(files, sessionId, id);
          return isUsable(part.url) ? part : NOT_THERE;
        }),
      ),
    })),
  );

/** The messages with a text in the place of the files whose URLs, as `URL` writes them, could not be downloaded. */
export const withoutUnread = (messages: readonly UIMessage[], unread: ReadonlySet<string>): UIMessage[] =>
  messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.type === "file" && isUnread(part.url, unread) ? NOT_READ : part,
    ),
  }));

const isUnread = (url: string, unread: ReadonlySet<string>): boolean =>
  unread.size > 0 && !url.startsWith("data:") && unread.has(new URL(url).toString());

/** What a browser shows and does not run. */
const SHOWN = /^(image\/(?!svg)|audio\/|video\/)/;

/** A part's file for a page. Of other types than pictures, sound and films a browser is told nothing, so that it runs none in the page's origin. */
export const toBlob = (bytes: Uint8Array, mediaType: string): Blob =>
  new Blob([bytes], {
    type: SHOWN.test(mediaType) ? mediaType : "application/octet-stream",
  });
