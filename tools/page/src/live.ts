// A study that is under way: its page is written anew as cells end, and loads itself anew.

import { element } from "./elements.ts";
import { keep, kept } from "./kept.ts";

/** Load the page again every so many seconds, until somebody says that it is to stay as it is. */
export function mountLive(place: HTMLElement): void {
  const seconds = Number(place.dataset["live"]);
  let stopped = kept<boolean>("stopped") ?? false;
  const button = element("button", { type: "button" });
  const show = (): void => {
    button.textContent = stopped ? "Go on updating" : "Stop updating";
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
