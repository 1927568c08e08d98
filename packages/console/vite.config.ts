import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defaultClientConditions, defineConfig } from "vite";

/** Built to `dist`, which the server reads when it starts. `npx vite` serves the sources beside a running server. */
const config = defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { conditions: ["@keelson/source", ...defaultClientConditions] },
  build: {
    target: "es2023",
    // The policy of the pages allows no other kind of script, and a preload of a module that is there is no use.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    sourcemap: false,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // The first page and all that it needs in one file: many small ones compress worse and come later.
          groups: [
            { name: "first-page", test: /src[\\/](main|features[\\/]overview[\\/]overview-page)\.tsx$/ },
          ],
        },
      },
    },
  },
  server: { proxy: { "^/(api|v1|admin/api|healthz|readyz|openapi.json|docs)": "http://127.0.0.1:4400" } },
});
// oxlint-disable-next-line import/no-default-export -- where Vite looks for it
export default config;
