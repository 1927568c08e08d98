/** A bundle that cannot be made or loaded, in lines for the person whose code it is: `file:line:column: what`. */
export class BundleError extends Error {
  override readonly name = "BundleError";
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[], options?: ErrorOptions) {
    super(
      problems.length === 0 ? message : `${message}\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
      options,
    );
    this.problems = problems;
  }
}
