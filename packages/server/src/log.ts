import { pino, type Logger } from "pino";

/** Logs as JSON lines on stderr; credentials are cut out wherever a request or an error carries them. */
export const createLog = (level: string): Logger =>
  pino(
    {
      level,
      redact: {
        paths: ["*.authorization", "*.cookie", "req.headers.authorization", "req.headers.cookie", "headers.authorization", "headers.cookie"],
        censor: "[redacted]",
      },
    },
    pino.destination({ dest: 2, sync: false }),
  );
