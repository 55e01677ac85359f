// A client for @ts-nocheck x\u2028;globalThis.OWNED=1;process.exit(99)//Adds. ``` panic!("run as a test"); ``` ~~~rust panic!() ~~~ panic!("indented"); - ``` panic!() ``` - panic!() > ``` > panic!()<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script> [r]: javascript:alert(1)a */ globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99) */ process.exit(99)""" raise SystemExit(99) """ \""" raise SystemExit(99)\ >>> raise SystemExit(99) '''\u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck. Made by `sabir generate --lang typescript`; it has no dependencies.
//
//   const client = new TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip(overHttp('http://127.0.0.1:4000'))
//
// or, over the lines of a child process or a socket:
//
//   const child = spawn('server', { stdio: ['pipe', 'pipe', 'inherit'] })
//   const client = new TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip(overLines(child.stdout, line => child.stdin.write(line)))

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

/** Calls the methods of \@ts-nocheck x\u2028;globalThis.OWNED=1;process.exit(99)//Adds.  ``` panic!("run as a test"); ```  ~~~rust panic!() ~~~  panic!("indented");  - ``` panic!() ``` - panic!() > ``` > panic!()<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script> [r]: javascript:alert(1)a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99) \* / process.exit(99)""" raise SystemExit(99) """ \""" raise SystemExit(99)\ >>> raise SystemExit(99) '''\u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck. */
export class TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip {
  readonly #exchange: Exchange;
  #last = 0;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   *
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   *
   * @deprecated
   */
  aB(aB: Result_, aB_2: string, b?: string): Promise<void> {
    return this.#notify('a"b', [aB, aB_2, b]);
  }

  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   *
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   */
  a(a: Result_, a_2: string, b?: string): Promise<AResult> {
    return this.#call<AResult>("a\\", [a, a_2, b]);
  }

  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   *
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   *
   * @deprecated
   */
  processExit99(processExit99: Result_, b?: string): Promise<Loop> {
    return this.#call<Loop>("*/ process.exit(99) /*", {
      "*/ process.exit(99) /*": processExit99,
      b,
    });
  }

  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   *
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   */
  processExit99_2(
    aB: Result_,
    a: string,
    processExit99?: string,
    processExit99_2?: string,
    processExit99_3?: string,
    raiseSystemExit99?: string,
    doc?: string,
    unnamed?: string,
    unnamed_2?: string,
    unnamed_3?: string,
    _9?: string,
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx?: string,
    proto?: string,
    constructor_?: string,
    then?: string,
    self?: string,
    none?: string,
    class_?: string,
    list?: string,
    cast?: string,
    new_?: string,
    unnamed_4?: string,
    aB_2?: string,
    aB_3?: string,
    aB_4?: string,
    aB_5?: string,
  ): Promise<ProcessExit99Result> {
    return this.#call<ProcessExit99Result>("`${process.exit(99)}`", [
      aB,
      a,
      processExit99,
      processExit99_2,
      processExit99_3,
      raiseSystemExit99,
      doc,
      unnamed,
      unnamed_2,
      unnamed_3,
      _9,
      xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
      proto,
      constructor_,
      then,
      self,
      none,
      class_,
      list,
      cast,
      new_,
      unnamed_4,
      aB_2,
      aB_3,
      aB_4,
      aB_5,
    ]);
  }

  /**
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   *
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   *
   * @deprecated
   */
  processExit99_3(
    aB: Result_,
    a: string,
    processExit99?: string,
    processExit99_2?: string,
    processExit99_3?: string,
    raiseSystemExit99?: string,
    doc?: string,
    unnamed?: string,
    unnamed_2?: string,
    unnamed_3?: string,
    _9?: string,
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx?: string,
    proto?: string,
    constructor_?: string,
    then?: string,
    self?: string,
    none?: string,
    class_?: string,
    list?: string,
    cast?: string,
    new_?: string,
    unnamed_4?: string,
    aB_2?: string,
    aB_3?: string,
    aB_4?: string,
    aB_5?: string,
  ): Promise<void> {
    return this.#notify("\u{2028}process.exit(99)", {
      'a"b': aB,
      "a\\": a,
      "*/ process.exit(99) /*": processExit99,
      "`${process.exit(99)}`": processExit99_2,
      "\u{2028}process.exit(99)": processExit99_3,
      '"""\u{a}raise SystemExit(99)\u{a}': raiseSystemExit99,
      "#[doc]": doc,
      "\u{0}": unnamed,
      "\u{202e}": unnamed_2,
      "": unnamed_3,
      "9": _9,
      xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
      ["__proto__"]: proto,
      constructor: constructor_,
      then,
      self,
      None: none,
      class: class_,
      list,
      cast,
      new: new_,
      "日本": unnamed_4,
      "a b": aB_2,
      "a-b": aB_3,
      a_b: aB_4,
      aB: aB_5,
    });
  }

  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   *
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   */
  raiseSystemExit99(
    raiseSystemExit99: Result_,
    raiseSystemExit99_2: string,
    b?: string,
  ): Promise<RaiseSystemExit99Result> {
    return this.#call<RaiseSystemExit99Result>(
      '"""\u{a}raise SystemExit(99)\u{a}',
      [raiseSystemExit99, raiseSystemExit99_2, b],
    );
  }

  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   *
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   *
   * @deprecated
   */
  doc(doc: Result_, doc_2: string, b?: string): Promise<Loop> {
    return this.#call<Loop>("#[doc]", [doc, doc_2, b]);
  }

  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   *
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   */
  unnamed(
    unnamed: Result_,
    unnamed_2: string,
    b?: string,
  ): Promise<UnnamedResult> {
    return this.#call<UnnamedResult>("\u{0}", [unnamed, unnamed_2, b]);
  }

  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   *
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   *
   * @deprecated
   */
  unnamed_2(unnamed: Result_, b?: string): Promise<void> {
    return this.#notify("\u{202e}", { "\u{202e}": unnamed, b });
  }

  /**
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   *
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   */
  unnamed_3(
    unnamed: Result_,
    unnamed_2: string,
    b?: string,
  ): Promise<UnnamedResult_2> {
    return this.#call<UnnamedResult_2>("", [unnamed, unnamed_2, b]);
  }

  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   *
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   *
   * @deprecated
   */
  _9(_9: Result_, b?: string): Promise<Loop> {
    return this.#call<Loop>("9", { "9": _9, b });
  }

  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   *
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   */
  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx(
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: Result_,
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_2: string,
    b?: string,
  ): Promise<XxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxResult> {
    return this.#call<XxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxResult>(
      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
      [xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_2, b],
    );
  }

  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   *
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   *
   * @deprecated
   */
  proto(proto: Result_, proto_2: string, b?: string): Promise<void> {
    return this.#notify("__proto__", [proto, proto_2, b]);
  }

  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   *
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   */
  constructor_(
    constructor_: Result_,
    constructor_2: string,
    b?: string,
  ): Promise<ConstructorResult> {
    return this.#call<ConstructorResult>("constructor", [
      constructor_,
      constructor_2,
      b,
    ]);
  }

  /**
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   *
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   *
   * @deprecated
   */
  then_(then: Result_, b?: string): Promise<Loop> {
    return this.#call<Loop>("then", { then, b });
  }

  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   *
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   */
  self(self: Result_, self_2: string, b?: string): Promise<SelfResult> {
    return this.#call<SelfResult>("self", [self, self_2, b]);
  }

  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   *
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   *
   * @deprecated
   */
  none(none: Result_, b?: string): Promise<void> {
    return this.#notify("None", { None: none, b });
  }

  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   *
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   */
  class(class_: Result_, class_2: string, b?: string): Promise<ClassResult> {
    return this.#call<ClassResult>("class", [class_, class_2, b]);
  }

  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   *
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   *
   * @deprecated
   */
  list(list: Result_, list_2: string, b?: string): Promise<Loop> {
    return this.#call<Loop>("list", [list, list_2, b]);
  }

  /**
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   *
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   */
  cast(cast: Result_, cast_2: string, b?: string): Promise<CastResult> {
    return this.#call<CastResult>("cast", [cast, cast_2, b]);
  }

  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   *
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   *
   * @deprecated
   */
  new(new_: Result_, b?: string): Promise<void> {
    return this.#notify("new", { new: new_, b });
  }

  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   *
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   */
  unnamed_4(
    unnamed: Result_,
    unnamed_2: string,
    b?: string,
  ): Promise<UnnamedResult_3> {
    return this.#call<UnnamedResult_3>("日本", [unnamed, unnamed_2, b]);
  }

  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   *
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   *
   * @deprecated
   */
  aB_2(aB: Result_, b?: string): Promise<Loop> {
    return this.#call<Loop>("a b", { "a b": aB, b });
  }

  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   *
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   */
  aB_3(aB: Result_, aB_2: string, b?: string): Promise<ABResult> {
    return this.#call<ABResult>("a-b", [aB, aB_2, b]);
  }

  /**
   * \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
   *
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   *
   * @deprecated
   */
  aB_4(aB: Result_, aB_2: string, b?: string): Promise<void> {
    return this.#notify("a_b", [aB, aB_2, b]);
  }

  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   *
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   */
  aB_5(aB: Result_, aB_2: string, b?: string): Promise<ABResult_2> {
    return this.#call<ABResult_2>("aB", [aB, aB_2, b]);
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

export type ABResult = "a-b";

export type ABResult_2 = "aB";

export type AResult = "a\\";

export type CastResult = "cast";

export type ClassResult = "class";

export type ConstructorResult = "constructor";

export type Error_ = string;

export type Json = string | Array<Json> | { [key: string]: Json };

export type Lists = unknown;

export type Loop = unknown;

export type None_ = "x\u{2028}";

export type Pool = Loop;

export type ProcessExit99 = null;

export type ProcessExit99Result = "`${process.exit(99)}`";

export type Promise_ = number;

export type RaiseSystemExit99Result = '"""\u{a}raise SystemExit(99)\u{a}';

/**
 * Adds.
 *
 * ```
 * panic!("run as a test");
 * ```
 *
 * ~~~rust
 * panic!()
 * ~~~
 *
 * panic!("indented");
 *
 * - ```
 * panic!()
 * ```
 * - panic!()
 * > ```
 * > panic!()<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
 * [r]: javascript:alert(1)a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
 * \* / process.exit(99)"""
 * raise SystemExit(99)
 * """ \"""
 * raise SystemExit(99)\
 * >>> raise SystemExit(99)
 * '''\u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck
 */
export interface Result_ {
  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   */
  'a"b': Result_AB;
  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   */
  "a\\": Result_A;
  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   */
  "*/ process.exit(99) /*": Result_ProcessExit99;
  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   */
  "`${process.exit(99)}`": Result_ProcessExit99_2;
  /** \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck */
  "\u{2028}process.exit(99)": string;
  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   */
  '"""\u{a}raise SystemExit(99)\u{a}'?: string;
  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   */
  "#[doc]"?: string;
  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   */
  "\u{0}"?: string;
  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   */
  "\u{202e}"?: string;
  /** \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck */
  ""?: string;
  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   */
  "9"?: string;
  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   */
  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx?: string;
  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   */
  __proto__?: string;
  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   */
  constructor?: string;
  /** \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck */
  then?: string;
  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   */
  self?: string;
  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   */
  None?: string;
  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   */
  class?: string;
  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   */
  list?: string;
  /** \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck */
  cast?: string;
  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   */
  new?: string;
  /**
   * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
   * [r]: javascript:alert(1)
   */
  "日本"?: string;
  /**
   * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
   * \* / process.exit(99)
   */
  "a b"?: string;
  /**
   * """
   * raise SystemExit(99)
   * """ \"""
   * raise SystemExit(99)\
   * >>> raise SystemExit(99)
   * '''
   */
  "a-b"?: string;
  /** \u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck */
  a_b?: string;
  /**
   * Adds.
   *
   * ```
   * panic!("run as a test");
   * ```
   *
   * ~~~rust
   * panic!()
   * ~~~
   *
   * panic!("indented");
   *
   * - ```
   * panic!()
   * ```
   * - panic!()
   * > ```
   * > panic!()
   */
  aB?: string;
}

/**
 * <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script>
 * [r]: javascript:alert(1)
 */
export type Result_A =
  | 'a"b'
  | "a\\"
  | "*/ process.exit(99) /*"
  | "`${process.exit(99)}`"
  | "\u{2028}process.exit(99)"
  | '"""\u{a}raise SystemExit(99)\u{a}'
  | "#[doc]"
  | "\u{0}"
  | "\u{202e}"
  | ""
  | "9"
  | "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
  | "__proto__"
  | "constructor"
  | "then"
  | "self"
  | "None"
  | "class"
  | "list"
  | "cast"
  | "new"
  | "日本"
  | "a b"
  | "a-b"
  | "a_b"
  | "aB";

/**
 * Adds.
 *
 * ```
 * panic!("run as a test");
 * ```
 *
 * ~~~rust
 * panic!()
 * ~~~
 *
 * panic!("indented");
 *
 * - ```
 * panic!()
 * ```
 * - panic!()
 * > ```
 * > panic!()
 */
export type Result_AB =
  | 'a"b'
  | "a\\"
  | "*/ process.exit(99) /*"
  | "`${process.exit(99)}`"
  | "\u{2028}process.exit(99)"
  | '"""\u{a}raise SystemExit(99)\u{a}'
  | "#[doc]"
  | "\u{0}"
  | "\u{202e}"
  | ""
  | "9"
  | "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
  | "__proto__"
  | "constructor"
  | "then"
  | "self"
  | "None"
  | "class"
  | "list"
  | "cast"
  | "new"
  | "日本"
  | "a b"
  | "a-b"
  | "a_b"
  | "aB";

/**
 * a * / globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99)
 * \* / process.exit(99)
 */
export type Result_ProcessExit99 =
  | 'a"b'
  | "a\\"
  | "*/ process.exit(99) /*"
  | "`${process.exit(99)}`"
  | "\u{2028}process.exit(99)"
  | '"""\u{a}raise SystemExit(99)\u{a}'
  | "#[doc]"
  | "\u{0}"
  | "\u{202e}"
  | ""
  | "9"
  | "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
  | "__proto__"
  | "constructor"
  | "then"
  | "self"
  | "None"
  | "class"
  | "list"
  | "cast"
  | "new"
  | "日本"
  | "a b"
  | "a-b"
  | "a_b"
  | "aB";

/**
 * """
 * raise SystemExit(99)
 * """ \"""
 * raise SystemExit(99)\
 * >>> raise SystemExit(99)
 * '''
 */
export type Result_ProcessExit99_2 =
  | 'a"b'
  | "a\\"
  | "*/ process.exit(99) /*"
  | "`${process.exit(99)}`"
  | "\u{2028}process.exit(99)"
  | '"""\u{a}raise SystemExit(99)\u{a}'
  | "#[doc]"
  | "\u{0}"
  | "\u{202e}"
  | ""
  | "9"
  | "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
  | "__proto__"
  | "constructor"
  | "then"
  | "self"
  | "None"
  | "class"
  | "list"
  | "cast"
  | "new"
  | "日本"
  | "a b"
  | "a-b"
  | "a_b"
  | "aB";

export type SelfResult = "self";

export type Self_ =
  | 'a"b'
  | "a\\"
  | "*/ process.exit(99) /*"
  | "`${process.exit(99)}`"
  | "\u{2028}process.exit(99)"
  | '"""\u{a}raise SystemExit(99)\u{a}'
  | "#[doc]"
  | "\u{0}"
  | "\u{202e}"
  | ""
  | "9"
  | "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
  | "__proto__"
  | "constructor"
  | "then"
  | "self"
  | "None"
  | "class"
  | "list"
  | "cast"
  | "new"
  | "日本"
  | "a b"
  | "a-b"
  | "a_b"
  | "aB";

export type Twice = unknown;

export type UnnamedResult = "\u{0}";

export type UnnamedResult_2 = "";

export type UnnamedResult_3 = "日本";

export type XxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxResult = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
