import { pino, stdSerializers, type Logger } from "pino";

/** An error of the driver carries its whole client, statements and all: only what names the failure is logged. */
function serializeError(error: Error): Record<string, unknown> {
  const { type, message, stack } = stdSerializers.err(error);
  return { type, message, stack, ...("code" in error ? { code: error.code } : {}) };
}

/** Logs as JSON lines on stderr; credentials are cut out wherever a request or an error carries them. */
export function createLog(level: string): Logger {
  const destination = pino.destination({ dest: 2, sync: false });
  // A terminal that was closed: nobody reads it, and the server goes on.
  destination.on("error", () => undefined);
  return pino(
    {
      level,
      serializers: { err: serializeError },
      redact: {
        paths: [
          "*.authorization",
          "*.cookie",
          "req.headers.authorization",
          "req.headers.cookie",
          "headers.authorization",
          "headers.cookie",
        ],
        censor: "[redacted]",
      },
    },
    destination,
  );
}
