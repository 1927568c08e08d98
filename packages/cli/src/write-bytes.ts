/** Writes, and waits for a slow reader. */
export async function writeBytes(stream: NodeJS.WriteStream, bytes: Uint8Array | string): Promise<void> {
  if (!stream.write(bytes)) await new Promise((resolve) => stream.once("drain", resolve));
}
