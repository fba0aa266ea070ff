// Columns as traces/base/columns.py packs them: a page carries them as base64 of a zlib stream.

export type NumberArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | Float32Array
  | Float64Array;

interface Entry {
  name: string;
  type: string; // numpy's name without byte order: i1 u1 i2 u2 i4 u4 i8 f4 f8
  offset: number; // bytes after the header
  rows: number;
}

export interface Packed {
  about: Record<string, unknown>;
  columns: Map<string, NumberArray>;
}

const MAGIC = "2LCOLS01";

/** Bytes of an element that holds base64 text of a zlib stream. */
export async function bytesOf(text: string): Promise<ArrayBuffer> {
  const binary = atob(text.trim());
  const packed = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) packed[at] = binary.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** What `pack` of traces/base/columns.py has written; the columns are views, nothing is copied. */
export function unpack(bytes: ArrayBuffer): Packed {
  const words = new TextDecoder();
  if (words.decode(new Uint8Array(bytes, 0, 8)) !== MAGIC) throw new Error("not packed columns");
  const length = new DataView(bytes).getUint32(8, true);
  const header = JSON.parse(words.decode(new Uint8Array(bytes, 12, length))) as {
    about: Record<string, unknown>;
    columns: Entry[];
  };
  const begin = (12 + length + 7) & ~7;
  const columns = new Map<string, NumberArray>();
  for (const entry of header.columns) columns.set(entry.name, view(bytes, begin + entry.offset, entry));
  return { about: header.about, columns };
}

function view(bytes: ArrayBuffer, at: number, entry: Entry): NumberArray {
  switch (entry.type) {
    case "i1":
      return new Int8Array(bytes, at, entry.rows);
    case "u1":
      return new Uint8Array(bytes, at, entry.rows);
    case "i2":
      return new Int16Array(bytes, at, entry.rows);
    case "u2":
      return new Uint16Array(bytes, at, entry.rows);
    case "i4":
      return new Int32Array(bytes, at, entry.rows);
    case "u4":
      return new Uint32Array(bytes, at, entry.rows);
    case "i8":
      return new BigInt64Array(bytes, at, entry.rows);
    case "f4":
      return new Float32Array(bytes, at, entry.rows);
    case "f8":
      return new Float64Array(bytes, at, entry.rows);
    default:
      throw new Error(`columns of type ${entry.type} are unknown`);
  }
}
