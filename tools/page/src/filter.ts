// What somebody types to see fewer rows: words, and conditions as `wait>1h cores>=64 state=killed`.

import { parseTime } from "./format.ts";
import { missing, numberAt, type Column, type TableData } from "./table_data.ts";

export type Test = (row: number) => boolean;

const CONDITION = /^([^<>=!~]+)(<=|>=|!=|<|>|=|~)(.*)$/;

/** The test of a text; or what is wrong with it, in words. */
export function parseFilter(text: string, data: TableData): Test | string {
  const tests: Test[] = [];
  for (const word of words(text)) {
    const parts = CONDITION.exec(word);
    const test = parts ? condition(parts[1]!, parts[2]!, parts[3]!, data) : anywhere(word.toLowerCase(), data);
    if (typeof test === "string") return test;
    tests.push(test);
  }
  return (row) => tests.every((test) => test(row));
}

// Apart at spaces, but for those in quotes.
function words(text: string): string[] {
  return (text.match(/(?:[^\s"]+|"[^"]*"?)+/g) ?? []).map((word) => word.replaceAll('"', "")).filter((word) => word);
}

function named(name: string, data: TableData): Column | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s_]+/g, "_").replace(/_ns$/, "");
  const wanted = plain(name);
  return (
    data.columns.find((one) => plain(one.name) === wanted || plain(one.label) === wanted) ??
    data.columns.find((one) => plain(one.name).startsWith(wanted) || plain(one.label).startsWith(wanted))
  );
}

function condition(name: string, operator: string, value: string, data: TableData): Test | string {
  const column = named(name, data);
  if (!column) return `there is no column “${name}”`;
  if (column.kind === "text" || operator === "~") return textCondition(column, operator, value.toLowerCase());
  const wanted = numberOf(column, value);
  if (wanted === undefined) return value ? `“${value}” is no value of ${column.label}` : `${column.label} ${operator} what?`;
  const holds = comparison(operator);
  return (row) => !missing(column, row) && holds(numberAt(column, row), wanted);
}

function numberOf(column: Column, text: string): number | undefined {
  if (column.kind === "duration" || column.kind === "instant") return parseTime(text);
  if (column.kind === "truth") return text === "yes" ? 1 : text === "no" ? 0 : undefined;
  const value = Number(text.replaceAll(",", "").replace("−", "-"));
  return text === "" || Number.isNaN(value) ? undefined : value;
}

function comparison(operator: string): (a: number, b: number) => boolean {
  switch (operator) {
    case "<":
      return (a, b) => a < b;
    case "<=":
      return (a, b) => a <= b;
    case ">":
      return (a, b) => a > b;
    case ">=":
      return (a, b) => a >= b;
    case "!=":
      return (a, b) => a !== b;
    default:
      return (a, b) => a === b;
  }
}

function textCondition(column: Column, operator: string, value: string): Test | string {
  if (column.kind !== "text") return `${column.label} is no text`;
  if (operator !== "=" && operator !== "!=" && operator !== "~") return `${column.label} is a text: allowed are =, !=, ~`;
  const fits = column.texts.map((text) => {
    const lower = text.toLowerCase();
    return operator === "~" ? lower.includes(value) : (lower === value) === (operator === "=");
  });
  return (row) => fits[numberAt(column, row)]!;
}

// A word may be in any text, or be the number of a job; a number is not looked for in what is numbers only, as allocations are.
function anywhere(word: string, data: TableData): Test {
  const tests: Test[] = [];
  const number = /^\d+$/.test(word);
  for (const column of data.columns) {
    if (column.kind === "text") {
      const fits = column.texts.map((text) => text.toLowerCase().includes(word) && !(number && /^[\d\s-]+$/.test(text)));
      if (fits.includes(true)) tests.push((row) => fits[numberAt(column, row)]!);
    } else if (column.name === data.key && number) {
      tests.push((row) => String(column.cells[row]!) === word);
    }
  }
  return (row) => tests.some((test) => test(row));
}
