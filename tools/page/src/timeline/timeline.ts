// A timeline one can fly through: cores, hosts or jobs over time.

import type { Packed } from "../columns.ts";

/** Draw packed rows of a run into a place of the page, and listen to pointer and keys there. */
export function mountTimeline(place: HTMLElement, packed: Packed): void {
  place.textContent = `${[...packed.columns.keys()].join(", ")}`;
}
