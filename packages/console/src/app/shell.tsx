import { Outlet } from "@tanstack/react-router";
import { Menu as MenuIcon, Search } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { Loading } from "../ui/async.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { EnvironmentSwitcher } from "./environment-switcher.tsx";
import { LiveIndicator } from "./live-indicator.tsx";
import { Sidebar } from "./sidebar.tsx";
import { useShortcut } from "./use-shortcut.ts";

const CommandPalette = lazy(async () => ({
  default: (await import("./command-palette.tsx")).CommandPalette,
}));

/** What stands around every page of whoever is signed in. */
export function Shell(): ReactNode {
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  const [isSidebarOpen, setIsSidebarOpen] = useState(false);
  useShortcut("k", () => setIsPaletteOpen(true));
  return (
    <div className="grid h-full grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)] md:grid-cols-[13rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only z-50 bg-surface p-2 focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      <header className="col-span-full flex items-center gap-2 border-b border-line bg-surface px-3 py-2">
        <IconButton
          label={isSidebarOpen ? "Close the menu" : "Open the menu"}
          aria-expanded={isSidebarOpen}
          aria-controls="sidebar"
          className="md:hidden"
          onClick={() => setIsSidebarOpen(!isSidebarOpen)}
        >
          <MenuIcon size={18} aria-hidden />
        </IconButton>
        <img src="/favicon.svg" alt="" className="size-6" />
        <span className="hidden font-semibold sm:inline">Keelson</span>
        <EnvironmentSwitcher />
        <div className="ml-auto flex items-center gap-2">
          <LiveIndicator />
          <Button
            icon={<Search size={15} aria-hidden />}
            onClick={() => setIsPaletteOpen(true)}
            aria-label="Ctrl K: search and commands"
            aria-keyshortcuts="Control+K Meta+K"
          >
            <kbd className="hidden font-sans text-xs text-quiet sm:inline">Ctrl K</kbd>
          </Button>
          <AccountMenu />
        </div>
      </header>
      <Sidebar isOpen={isSidebarOpen} onNavigate={() => setIsSidebarOpen(false)} />
      <main id="content" tabIndex={-1} className="min-w-0 overflow-y-auto outline-none max-md:row-start-2">
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
      {isPaletteOpen && (
        <Suspense>
          <CommandPalette onClose={() => setIsPaletteOpen(false)} />
        </Suspense>
      )}
    </div>
  );
}
