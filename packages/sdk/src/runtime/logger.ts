import type { EventSeverity, RuntimeHost } from "@keelson/contract/plain";

/** Each call writes one line to the run's log: the level, the message, and the attributes as JSON. */
export type Logger = Record<EventSeverity, (message: string, attributes?: Record<string, unknown>) => void>;

/**
 * Errors, collections, big integers, NaN and cycles are written as something readable: a log line must never be why a
 * run fails.
 */
function attributesText(attributes: Record<string, unknown>): string {
  const above: unknown[] = [];
  try {
    return JSON.stringify(attributes, function (this: unknown, _key, value: unknown) {
      if (typeof value === "bigint" || typeof value === "number")
        return Number.isFinite(value) ? value : String(value);
      if (typeof value !== "object" || value === null) return value;
      while (above.length > 0 && above.at(-1) !== this) above.pop();
      if (above.includes(value)) return "[Circular]";
      const isCollection = value instanceof Map || value instanceof Set;
      const shown: object = isCollection ? [...(value as Iterable<unknown>)] : value;
      above.push(shown);
      if (value instanceof Error)
        return {
          ...Object.fromEntries(Object.entries(value)),
          name: value.name,
          message: value.message,
          stack: value.stack,
        };
      return shown;
    });
  } catch (error) {
    return JSON.stringify({ attributes_error: error instanceof Error ? error.message : String(error) });
  }
}

/** A line break inside a message would make two lines of one record. */
const oneLine = (text: string): string => text.replaceAll("\r", "\\r").replaceAll("\n", "\\n");

/** Nothing is written while `isRepeated` says that the code has been here before. */
export function createLogger(host: RuntimeHost, isRepeated: () => boolean): Logger {
  const write =
    (stream: "stdout" | "stderr", level: string) =>
    (message: string, attributes?: Record<string, unknown>): void => {
      if (isRepeated()) return;
      const rest = attributes === undefined ? "" : ` ${attributesText(attributes)}`;
      host.log(stream, `${level} ${oneLine(message)}${rest}\n`);
    };
  return {
    debug: write("stdout", "DEBUG"),
    info: write("stdout", "INFO"),
    warn: write("stderr", "WARN"),
    error: write("stderr", "ERROR"),
  };
}
