/** Code that holds up its event loop without end, as a loop does, and that takes no core meanwhile. */
export const BLOCK = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`;

/** Bundles of tests: hand-written modules with the export that the SDK would make. */
export function bundleOf(tasks: Record<string, string>, top = ""): string {
  const entries = Object.entries(tasks).map(
    ([id, body]) => `${JSON.stringify(id)}: async (payload, ctx) => { ${body} }`,
  );
  return `${top}
const tasks = { ${entries.join(",\n")} };
export const keelson = {
  formatVersion: 1,
  sdkVersion: "0.1.0",
  manifest: () => ({ tasks: Object.keys(tasks).map((id) => ({ id })) }),
  async execute(input) {
    try {
      const output = await tasks[input.entrypoint.declaredId](input.run.payload, input);
      return { outcome: "succeeded", output: output === undefined ? null : JSON.stringify(output) };
    } catch (error) {
      if (input.signal.aborted) return { outcome: "cancelled" };
      return { outcome: "failed", failure: { kind: "application_error", message: error.message, stack: error.stack, retryable: true } };
    }
  },
};
`;
}
