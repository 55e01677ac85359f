// What the program answers, for the check of types: browsers never see this file.

/** A row: a call, a notification, or something else that happened. */
export interface Row {
  /** Its number, from 1. */
  row: number;
  /** Nanoseconds since the start. */
  t?: number;
  /** The connection. */
  c: number;
  /** The capture that it is of. */
  source: number;
  /** ">" from the client, "<" from the server, "" neither. */
  d: string;
  /** req, note, res, err, batch, noise, stderr, http, exit … */
  kind: string;
  /** pending, ok, error, cancel, late, input */
  status?: string;
  /** As JSON. */
  id?: string;
  method?: string;
  tool?: string;
  code?: number;
  ms?: number;
  /** Of a call with several requests. */
  total?: number;
  /** Of a call without an answer, until now or the newest record. */
  age?: number;
  bytes: number;
  /** The row of the other half. */
  other?: number;
  preview: string;
  /** What the answer says. */
  result?: string;
  findings?: Finding[];
  /** It is what is searched for. */
  hit?: boolean;
}

/** The level is error, warning or note. */
export interface Finding { rule: string; level: string; text: string; title: string; why: string; fix: string; source: string }

/** What the feed tells, ten times a second at the most. */
export interface News {
  /** Whom filters are for. */
  page: number;
  /** Of the list. */
  rows: number;
  /** Of the sequence. */
  records: number;
  /** Rows that have changed since the last news. */
  changed?: number[];
  /** Everything may have changed. */
  reset?: boolean;
  sources: { name: string; label: string; phase: string; end: string | null }[];
  problems: string[];
  /** All that there was has been read. */
  read: boolean;
  /** What breaks a rule. */
  found: number;
  scans: Scan[];
}

/** A filter at work. */
export interface Scan { id: number; looked: number; of: number; matched: number; records: number; moved: number }

/** `cut` at a megabyte unless asked for whole; `json` if it was sent as a message; `head` of HTTP. */
export interface Part { row: Row; text: string; cut: boolean; json: boolean; head?: string }

/** A row with all that belongs to it. */
export interface Whole {
  request?: Part;
  answer?: Part;
  http: Part[];
  progress: Row[];
  related: { why: string; rows: Row[] }[];
  copies: string[];
}

/** Milliseconds; `times` are how many took less than 2 µs, 4 µs, 8 µs … */
export interface MethodStats {
  method: string;
  tool?: string;
  count: number;
  messages: number;
  errors: number;
  pending: number;
  p50?: number;
  p95?: number;
  p99?: number;
  rounded?: boolean;
  bytes: number;
  times: number[];
}
