// The script of a report page: finds what the page carries and brings it to life.

import { bytesOf, unpack, type Packed } from "./columns.ts";
import { mountExplorer } from "./explorer.ts";
import { mountLive } from "./live.ts";
import { mountMetrics } from "./metrics.ts";
import { Table, type Chosen } from "./table.ts";
import { tableData, type TableData } from "./table_data.ts";
import { mountTheme } from "./theme.ts";
import { mountTimelines } from "./timeline/timeline.ts";

async function carried(id: string | undefined): Promise<Packed | undefined> {
  const source = document.getElementById(id ?? "");
  return source?.textContent ? unpack(await bytesOf(source.textContent)) : undefined;
}

function places(kind: string): NodeListOf<HTMLElement> {
  return document.querySelectorAll<HTMLElement>(`[data-${kind}]`);
}

async function start(): Promise<void> {
  for (const place of places("theme-switch")) mountTheme(place);
  mountMetrics();
  const tables = new Map<string, TableData>();
  const shown: Table[] = [];
  for (const place of places("table")) {
    const id = place.dataset["table"]!;
    const packed = await carried(id);
    if (!packed) continue;
    const data = tableData(packed);
    tables.set(id, data);
    shown.push(new Table(place, id, place.dataset["caption"] ?? "", data));
  }
  document.addEventListener("twolevel:job", (event) => {
    for (const one of shown) one.show(Number((event as CustomEvent<number>).detail));
  });
  document.addEventListener("twolevel:chosen", (event) => {
    for (const one of shown) one.choose((event as CustomEvent<Chosen>).detail);
  });
  const timelines: { place: HTMLElement; packed: Packed }[] = [];
  for (const place of places("timeline")) {
    const packed = await carried(place.dataset["timeline"]);
    if (packed) timelines.push({ place, packed });
  }
  mountTimelines(timelines);
  for (const place of places("explorer")) {
    const data = tables.get(place.dataset["explorer"]!);
    if (data) mountExplorer(place, place.dataset["explorer"]!, data);
  }
  for (const place of places("live")) mountLive(place);
  document.documentElement.dataset["ready"] = "";
}

void start();
