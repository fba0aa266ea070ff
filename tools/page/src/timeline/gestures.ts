// Input of a timeline: pointer, wheel, touch and keys, as calls of actions.

export interface Meanings {
  /** By pixels of CSS. */
  pan(x: number, y: number): void;
  /** Multiply the shown time around a place. */
  zoom(factor: number, x: number): void;
  zoomRows(factor: number, y: number): void;
  point(x: number, y: number, touched: boolean): void;
  leave(): void;
  choose(x: number, y: number): void;
  /** Whether the key meant something. */
  key(event: KeyboardEvent): boolean;
}

/** A pointer that moved no farther than this has clicked. */
const STILL = 4;
/** Time (ms) for which a wheel that was turned elsewhere continues to scroll the page. */
const GOING_ON = 400;

export function listen(stage: HTMLElement, meanings: Meanings): void {
  keys(stage, meanings);
  wheel(stage, meanings);
  pointers(stage, meanings);
}

function keys(stage: HTMLElement, meanings: Meanings): void {
  stage.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || (event.ctrlKey && event.key !== "+" && event.key !== "-")) return;
    if (!meanings.key(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function wheel(stage: HTMLElement, meanings: Meanings): void {
  // Scrolling the page past a timeline must not stop in it.
  let elsewhere = -Infinity;
  window.addEventListener(
    "wheel",
    (event) => {
      if (!stage.contains(event.target as Node)) elsewhere = event.timeStamp;
    },
    { capture: true, passive: true },
  );
  stage.addEventListener(
    "wheel",
    (event) => {
      if (event.timeStamp - elsewhere < GOING_ON) {
        elsewhere = event.timeStamp;
        return;
      }
      event.preventDefault();
      const { left, top } = stage.getBoundingClientRect();
      const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      const across = (event.shiftKey ? event.deltaX || event.deltaY : event.deltaX) * unit;
      const along = event.shiftKey ? 0 : event.deltaY * unit;
      if (Math.abs(across) > Math.abs(along)) meanings.pan(across, 0);
      else if (event.altKey) meanings.zoomRows(Math.exp(-along / 400), event.clientY - top);
      else meanings.zoom(Math.exp(along / (event.ctrlKey ? 100 : 400)), event.clientX - left);
    },
    { passive: false },
  );
}

function pointers(stage: HTMLElement, meanings: Meanings): void {
  const held = new Map<number, { x: number; y: number }>();
  let moved = 0;
  let pinched = false;
  const place = (event: PointerEvent) => {
    const { left, top } = stage.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    if (!held.size) {
      moved = 0;
      pinched = false;
    }
    held.set(event.pointerId, place(event));
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = held.get(event.pointerId);
    if (!before) {
      meanings.point(now.x, now.y, false);
      return;
    }
    const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
    held.set(event.pointerId, now);
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (!other) {
      if (moved > STILL) {
        meanings.leave();
        meanings.pan(before.x - now.x, before.y - now.y);
      }
      return;
    }
    // Two fingers: the wider they are apart, the larger; across time, or the height of rows, whichever they lie along.
    pinched = true;
    const wide = (one: { x: number; y: number }) => Math.abs(one.x - other.x);
    const high = (one: { x: number; y: number }) => Math.abs(one.y - other.y);
    if (wide(before) >= high(before)) {
      if (wide(now) > 8 && wide(before) > 8) meanings.zoom(wide(before) / wide(now), (now.x + other.x) / 2);
    } else if (high(now) > 8 && high(before) > 8) meanings.zoomRows(high(now) / high(before), (now.y + other.y) / 2);
    meanings.pan((before.x - now.x) / 2, (before.y - now.y) / 2);
  });
  const up = (event: PointerEvent) => {
    if (!held.delete(event.pointerId) || event.type !== "pointerup" || held.size || moved > STILL || pinched) return;
    const { x, y } = place(event);
    meanings.point(x, y, event.pointerType === "touch");
    meanings.choose(x, y);
  };
  stage.addEventListener("pointerup", up);
  stage.addEventListener("pointercancel", up);
  stage.addEventListener("pointerleave", (event) => {
    if (!held.size && event.pointerType !== "touch") meanings.leave();
  });
}
