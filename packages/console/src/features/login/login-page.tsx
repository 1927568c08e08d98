import { useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { LonePage } from "../../ui/lone-page.tsx";
import { SignIn } from "./sign-in.tsx";

export function LoginPage(): ReactNode {
  const { return_to: returnTo = "/" } = useSearch({ from: "/login" });
  return (
    <LonePage title="Sign in">
      <SignIn returnTo={returnTo} />
    </LonePage>
  );
}
