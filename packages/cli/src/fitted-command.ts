import { Command, type AddHelpTextContext, type AddHelpTextPosition } from "commander";

const DEFAULT_WIDTH = 80;

function wrap(text: string, width: number, indent: string): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && longer.length > width) {
      lines.push(line);
      line = indent + word;
    } else line = longer;
  }
  return [...lines, line].join("\n");
}

/** An entry of a list is continued below its meaning; a command is for copying and stays one line. */
function fitIndented(line: string, width: number): string {
  if (line.length <= width || line.startsWith("  $ ")) return line;
  const [head = ""] = /^ +\S+ {2,}/.exec(line) ?? /^ +/.exec(line) ?? [];
  return (
    head +
    wrap(line.slice(head.length), width - head.length, "").replaceAll("\n", `\n${" ".repeat(head.length)}`)
  );
}

/** Lines that begin at the margin are a paragraph, up to an empty or indented one, or one that announces a list. */
export function fitText(text: string, width: number): string {
  const shown: string[] = [];
  let paragraph: string[] = [];
  const flush = (): void => {
    if (paragraph.length > 0) shown.push(wrap(paragraph.join(" "), width, ""));
    paragraph = [];
  };
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith(" ")) {
      flush();
      shown.push(fitIndented(line, width));
      continue;
    }
    paragraph.push(line);
    if (line.endsWith(":")) flush();
  }
  flush();
  return shown.join("\n");
}

/** A command whose whole help fits the terminal: commander fits descriptions, and not the texts after them. */
export class FittedCommand extends Command {
  override createCommand(name?: string): Command {
    return new FittedCommand(name);
  }

  override addHelpText(
    position: AddHelpTextPosition,
    text: string | ((context: AddHelpTextContext) => string),
  ): this {
    const width = (): number => this.configureOutput().getOutHelpWidth?.() ?? DEFAULT_WIDTH;
    return super.addHelpText(position, (context) =>
      fitText(typeof text === "string" ? text : text(context), width()),
    );
  }
}
