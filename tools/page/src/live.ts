// A study in progress: its page is written again as cells end, and reloads.

import { element } from "./elements.ts";
import { keep, kept } from "./kept.ts";

/** Reload the page every few seconds, until a button stops it. */
export function mountLive(place: HTMLElement): void {
  const seconds = Number(place.dataset["live"]);
  let stopped = kept<boolean>("stopped") ?? false;
  const button = element("button", { type: "button" });
  const show = (): void => {
    button.textContent = stopped ? "Resume updating" : "Stop updating";
  };
  button.addEventListener("click", () => {
    stopped = !stopped;
    keep("stopped", stopped);
    show();
  });
  place.append(" ", button);
  show();
  restoreScroll();
  setInterval(() => {
    const typing = document.activeElement instanceof HTMLInputElement;
    if (stopped || typing || document.hidden) return;
    keep("scroll", scrollY);
    location.reload();
  }, seconds * 1000);
}

function restoreScroll(): void {
  history.scrollRestoration = "manual";
  const at = kept<number>("scroll");
  if (at) requestAnimationFrame(() => scrollTo(0, at));
}
