import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";

const streamOf = (chunks: readonly UIMessageChunk[]): ReadableStream<UIMessageChunk> =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

/** The message as a page has it after these chunks: the same code makes both, so that they are the same. */
export async function applyChunks(message: UIMessage, chunks: readonly UIMessageChunk[]): Promise<UIMessage> {
  const own = structuredClone(message);
  let last = own;
  for await (const state of readUIMessageStream({ message: own, stream: streamOf(chunks) })) last = state;
  return last;
}
