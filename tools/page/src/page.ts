// The script of a report page: finds what the page carries and brings it to life.

import { bytesOf, unpack } from "./columns.ts";
import { mountTimeline } from "./timeline/timeline.ts";

async function start(): Promise<void> {
  for (const place of document.querySelectorAll<HTMLElement>("[data-timeline]")) {
    const source = document.getElementById(place.dataset["timeline"] ?? "");
    if (source?.textContent) mountTimeline(place, unpack(await bytesOf(source.textContent)));
  }
}

void start();
