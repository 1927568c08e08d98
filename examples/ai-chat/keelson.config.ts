import { defineConfig } from "@keelson/sdk";

// The command reads the default export.
// oxlint-disable-next-line import/no-default-export
export default defineConfig({ tasks: ["src/tasks/*.ts"] });
