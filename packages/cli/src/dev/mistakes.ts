import { paint, type Cli } from "../cli.ts";

/** Tells what is wrong with a save, and of the first one after it that it is deployed. */
export function createMistakes(cli: Cli) {
  const { stderr } = cli.host;
  let isOpen = false;
  return {
    tell(message: string): void {
      isOpen = true;
      cli.notice(`${paint(stderr, "red", "✗")} ${message}`);
    },
    repaired(version: string): void {
      if (isOpen) cli.notice(`${paint(stderr, "green", "✓")} Repaired: ${version} is deployed`);
      isOpen = false;
    },
  };
}
