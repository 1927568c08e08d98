/** The part of a pino logger that the agent uses; pass `pino()` or anything of its shape. */
export type Logger = {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};
