import { resolve } from "node:path";

/** The folder that the worker was started in: a task's own working directory is empty, and removed afterwards. */
export const WORKER_FOLDER = process.env["KEELSON_WORKER_DIR"] ?? process.cwd();

/** Relative paths of a payload start at the worker's folder. */
export const resolvePath = (path: string): string => resolve(WORKER_FOLDER, path);
