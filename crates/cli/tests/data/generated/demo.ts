// A client for Sabir demo. Made by `sabir generate --lang typescript`; it has no dependencies.
//
//   const client = new SabirDemo(overHttp('http://127.0.0.1:4000'))
//
// or, over the lines of a child process or a socket:
//
//   const child = spawn('server', { stdio: ['pipe', 'pipe', 'inherit'] })
//   const client = new SabirDemo(overLines(child.stdout, line => child.stdin.write(line)))

/** A JSON-RPC message. */
export interface Message {
  jsonrpc: "2.0";
  id?: number | string | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** Sends a message, and resolves with the answer; with nothing for a notification, which has no id. */
export type Exchange = (message: Message) => Promise<Message | undefined>;

/** What the peer answered instead of a result. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}

/** Each message is posted to a URL, and answered in the body. */
export function overHttp(
  url: string,
  headers: Record<string, string> = {},
): Exchange {
  return async (message) => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...headers,
      },
      body: JSON.stringify(message),
    });
    const text = await response.text();
    if (message.id === undefined) return undefined;
    if (text === "")
      throw new Error(`no answer from ${url}: status ${response.status}`);
    return JSON.parse(text) as Message;
  };
}

/** Messages are lines: what is read from `input` answers what is given to `write`. */
export function overLines(
  input: AsyncIterable<Uint8Array | string>,
  write: (line: string) => unknown,
): Exchange {
  const waiting = new Map<
    unknown,
    { resolve: (answer: Message) => void; reject: (error: Error) => void }
  >();
  let ended: Error | undefined;
  const read = async () => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of input) {
      rest +=
        typeof chunk === "string"
          ? chunk
          : decoder.decode(chunk, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.trim() === "") continue;
        const message = JSON.parse(line) as Message;
        if (message.method !== undefined) {
          // Nothing is offered in return.
          if (message.id === undefined) continue;
          const error = { code: -32601, message: "Method not found" };
          write(
            JSON.stringify({ jsonrpc: "2.0", id: message.id, error }) + "\n",
          );
          continue;
        }
        waiting.get(message.id)?.resolve(message);
        waiting.delete(message.id);
      }
    }
    throw new Error("the peer has closed the connection");
  };
  read().catch((error: unknown) => {
    ended = error instanceof Error ? error : new Error(String(error));
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  });
  return (message) => {
    if (ended) return Promise.reject(ended);
    const line = JSON.stringify(message) + "\n";
    if (message.id === undefined) {
      write(line);
      return Promise.resolve(undefined);
    }
    return new Promise((resolve, reject) => {
      waiting.set(message.id, { resolve, reject });
      write(line);
    });
  };
}

/** Calls the methods of Sabir demo. */
export class SabirDemo {
  readonly #exchange: Exchange;
  #last = 0;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  /**
   * Adds two numbers.
   *
   * Integers of up to 128 bits are added exactly.
   */
  add(a: number, b: number): Promise<number> {
    return this.#call<number>("add", [a, b]);
  }

  /** Calls a method of the caller, and returns what came of it. */
  ask(method: string, params?: unknown): Promise<unknown> {
    return this.#call("ask", [method, params]);
  }

  /** Returns its params as they came, or null if there are none. */
  echo(params?: unknown): Promise<unknown> {
    return this.#call("echo", params);
  }

  /**
   * Fails with the error that it is given.
   *
   * Without a code the handler fails by itself.
   */
  fail(
    code?: number | null,
    message?: string | null,
    data?: unknown,
  ): Promise<null> {
    return this.#call<null>("fail", [code, message, data]);
  }

  /** Returns a string and a number. */
  getData(): Promise<[string, number]> {
    return this.#call<[string, number]>("get_data", undefined);
  }

  /** Accepts the notification and does nothing. */
  log(params?: unknown): Promise<void> {
    return this.#notify("log", params);
  }

  /** Returns what `update` was given, the oldest first. */
  notes(): Promise<Array<unknown>> {
    return this.#call<Array<unknown>>("notes", undefined);
  }

  /** Accepts the notification and does nothing. */
  notifyHello(params?: unknown): Promise<void> {
    return this.#notify("notify_hello", params);
  }

  /** Accepts the notification and does nothing. */
  notifySum(params?: unknown): Promise<void> {
    return this.#notify("notify_sum", params);
  }

  /** Panics. The server keeps running. */
  panic(): Promise<null> {
    return this.#call<null>("panic", undefined);
  }

  /**
   * Tells its progress, and returns the number of steps.
   *
   * With a token in `_meta.progressToken` it tells `notifications/progress`, without one `progress`.
   */
  progress(steps: number, ms?: number): Promise<number> {
    return this.#call<number>("progress", [steps, ms]);
  }

  /**
   * Waits, and returns for how long.
   *
   * It can be cancelled.
   */
  sleep(ms: number): Promise<number> {
    return this.#call<number>("sleep", [ms]);
  }

  /**
   * Counts in notifications `ticks`.
   *
   * Its result is the id of the subscription.
   */
  subscribeTicks(n: number, ms: number): Promise<string> {
    return this.#call<string>("subscribe_ticks", [n, ms]);
  }

  /** Subtracts one number from another. */
  subtract(minuend: number, subtrahend: number): Promise<number> {
    return this.#call<number>("subtract", [minuend, subtrahend]);
  }

  /** Adds any number of numbers. */
  sum(params?: Array<number>): Promise<number> {
    return this.#call<number>("sum", params);
  }

  /** Sends `n` notifications `ticked`, and returns `n`. */
  tick(n: number): Promise<number> {
    return this.#call<number>("tick", [n]);
  }

  /** Ends a subscription, and returns whether there was one. */
  unsubscribeTicks(id: string): Promise<boolean> {
    return this.#call<boolean>("unsubscribe_ticks", [id]);
  }

  /** Remembers its params, for `notes`. */
  update(params?: unknown): Promise<void> {
    return this.#notify("update", params);
  }

  /** Tells its progress as language servers do, and returns the number of steps. */
  work(steps: number, workDoneToken: Token): Promise<number> {
    return this.#call<number>("work", [steps, workDoneToken]);
  }

  async #call<T>(method: string, params: unknown): Promise<T> {
    const id = ++this.#last;
    const answer = await this.#exchange({
      jsonrpc: "2.0",
      id,
      method,
      params: trimmed(params),
    });
    if (answer === undefined) throw new Error(`no answer to ${method}`);
    if (answer.error !== undefined)
      throw new RpcError(
        answer.error.code,
        answer.error.message,
        answer.error.data,
      );
    return answer.result as T;
  }

  async #notify(method: string, params: unknown): Promise<void> {
    await this.#exchange({ jsonrpc: "2.0", method, params: trimmed(params) });
  }
}

/** Arguments that are left out at the end of a list are not sent; JSON leaves out those with names. */
function trimmed(params: unknown): unknown {
  if (!Array.isArray(params)) return params;
  const list: unknown[] = [...params];
  while (list.length > 0 && list[list.length - 1] === undefined) list.pop();
  return list;
}

export interface Step {
  step: number;
  steps?: number | null;
}

/** What a progress token may be. */
export type Token = string | number;
