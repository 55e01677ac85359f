// A client for the tools of __TITLE__. Made by `sabir generate --lang typescript`; it has no dependencies.
//
//   const client = new Client({ name: "my-program", version: "1.0" }); // of @modelcontextprotocol/client
//   await client.connect(new StdioClientTransport({ command: "server" }));
//   const tools = new __NAME__(client);

/** What calls a tool: a client of an MCP library. */
export interface ToolCaller {
  callTool(params: {
    name: string;
    arguments?: Record<string, unknown>;
  }): Promise<unknown>;
}

/** What comes of a tool. */
export interface ToolResult {
  content: Array<{ type: string; [member: string]: unknown }>;
  structuredContent?: unknown;
  isError?: boolean;
}

/** A tool has failed, or its result is not what it declares. */
export class ToolError extends Error {
  readonly result: ToolResult;

  constructor(message: string, result: ToolResult) {
    super(message);
    this.name = "ToolError";
    this.result = result;
  }
}

/** Calls the tools of __DOCUMENTED__. */
export class __NAME__ {
  readonly #caller: ToolCaller;

  constructor(caller: ToolCaller) {
    this.#caller = caller;
  }

  // __METHODS__
  async #call(
    name: string,
    params: Record<string, unknown> = {},
  ): Promise<ToolResult> {
    const given = Object.entries(params).filter(
      ([, value]) => value !== undefined,
    );
    const result = await this.#caller.callTool({
      name,
      arguments: Object.fromEntries(given),
    });
    return result as ToolResult;
  }

  async #structured<T>(
    name: string,
    params: Record<string, unknown> = {},
  ): Promise<T> {
    const result = await this.#call(name, params);
    if (result.isError) throw new ToolError(`${name} failed`, result);
    if (result.structuredContent === undefined)
      throw new ToolError(`${name} has no structured result`, result);
    return result.structuredContent as T;
  }
}
