/** A bundle as the SDK would make it, of task bodies that see `payload`, `input` and `tick(ms)`. */
export function bundleOf(tasks: Record<string, string>, top = ""): string {
  const entries = Object.entries(tasks).map(
    ([id, body]) => `${JSON.stringify(id)}: async (payload, input) => { ${body} }`,
  );
  return `${top}
const tick = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const tasks = { ${entries.join(",\n")} };
export const keelson = {
  formatVersion: 1,
  sdkVersion: "0.1.0",
  manifest: () => ({ tasks: Object.keys(tasks).map((id) => ({ id })) }),
  async execute(input) {
    try {
      const output = await tasks[input.entrypoint.declaredId](input.run.payload, input);
      return { outcome: "succeeded", output: JSON.stringify(output ?? null) };
    } catch (error) {
      if (input.signal.aborted) return { outcome: "cancelled" };
      return { outcome: "failed", failure: { kind: "application_error", message: error.message, stack: error.stack, retryable: true } };
    }
  },
};
`;
}
