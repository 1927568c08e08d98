import "./style.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/query-client.ts";
import { router } from "./app/router.ts";
import { takeLoginLink } from "./app/login-link.ts";
import { applyTheme } from "./app/theme.ts";
import { Toasts } from "./ui/toasts.tsx";

applyTheme();
takeLoginLink();

const root = document.querySelector("#root");
if (root === null) throw new Error("The page has no element for the console.");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
);
