import { EXIT, ExitError } from "../exit-codes.ts";

/** What keeps a server from starting in one line that says what to do; what is not known stays as it is. */
export function describeStartFailure(error: unknown): unknown {
  const { code, port, path, message } = error as {
    code?: string;
    port?: number;
    path?: string;
    message?: string;
  };
  switch (code) {
    case "EADDRINUSE":
      return new ExitError(EXIT.failure, `Port ${port} is taken: stop what uses it, or set PORT to another`, {
        cause: error,
      });
    case "EADDRNOTAVAIL":
      return new ExitError(EXIT.failure, `This machine does not have the address of HOST: ${message}`, {
        cause: error,
      });
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return port === undefined
        ? new ExitError(
            EXIT.failure,
            `Cannot write to ${path}: make it writable, or set KEELSON_DATA_DIR to another folder`,
            { cause: error },
          )
        : new ExitError(
            EXIT.failure,
            `Port ${port} needs more rights than this account has: set PORT to one above 1023`,
            { cause: error },
          );
    default:
      return error;
  }
}
