// Selections on a page: kept while its tab is open, also when the page of a study in progress reloads.

/** What was kept under a name; undefined if nothing was, or the browser keeps nothing. */
export function kept<T>(name: string): T | undefined {
  try {
    const text = sessionStorage.getItem(place(name));
    return text === null ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined; // a page in a frame of a notebook may keep nothing
  }
}

export function keep(name: string, value: unknown): void {
  try {
    sessionStorage.setItem(place(name), JSON.stringify(value));
  } catch {
    // as above
  }
}

function place(name: string): string {
  return `twolevel ${location.pathname} ${name}`;
}
