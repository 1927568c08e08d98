/** Ends the process that builds, which esbuild keeps for as long as this one lives. The next build begins another. */
export async function endBundler(): Promise<void> {
  const { stop } = await import("esbuild");
  await stop();
}
