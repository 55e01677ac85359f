// A client for the tools of sabir-everything. Made by `sabir generate --lang typescript`; it has no dependencies.
//
//   const client = new Client({ name: "my-program", version: "1.0" }); // of @modelcontextprotocol/client
//   await client.connect(new StdioClientTransport({ command: "server" }));
//   const tools = new SabirEverything(client);

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

/** Calls the tools of sabir-everything. */
export class SabirEverything {
  readonly #caller: ToolCaller;

  constructor(caller: ToolCaller) {
    this.#caller = caller;
  }

  /** Returns a text */
  testSimpleText(): Promise<ToolResult> {
    return this.#call("test_simple_text", undefined);
  }

  /** Returns an image */
  testImageContent(): Promise<ToolResult> {
    return this.#call("test_image_content", undefined);
  }

  /** Returns a sound */
  testAudioContent(): Promise<ToolResult> {
    return this.#call("test_audio_content", undefined);
  }

  /** Returns a resource */
  testEmbeddedResource(): Promise<ToolResult> {
    return this.#call("test_embedded_resource", undefined);
  }

  /** Returns a text, an image and a resource */
  testMultipleContentTypes(): Promise<ToolResult> {
    return this.#call("test_multiple_content_types", undefined);
  }

  /** Says that it waits, and never ends unless it is cancelled */
  wait(): Promise<ToolResult> {
    return this.#call("wait", undefined);
  }

  /** How many waits were cancelled */
  cancelled(): Promise<ToolResult> {
    return this.#call("cancelled", undefined);
  }

  /** Changes the list of tools */
  testTriggerToolChange(): Promise<ToolResult> {
    return this.#call("test_trigger_tool_change", undefined);
  }

  /** Changes the list of prompts */
  testTriggerPromptChange(): Promise<ToolResult> {
    return this.#call("test_trigger_prompt_change", undefined);
  }

  /** Tells those who have subscribed that a resource has changed */
  touch(uri: string): Promise<ToolResult> {
    return this.#call("touch", { uri });
  }

  /** The sum of two integers */
  add(a: number, b: number): Promise<ToolResult> {
    return this.#call("add", { a, b });
  }

  /** Counts, and reports its progress */
  count(steps: number): Promise<ToolResult> {
    return this.#call("count", { steps });
  }

  /** One number by another, as a number for programs */
  divide(dividend: number, divisor: number): Promise<DivideResult> {
    return this.#structured<DivideResult>("divide", { dividend, divisor });
  }

  /** Always fails */
  testErrorHandling(): Promise<ToolResult> {
    return this.#call("test_error_handling", undefined);
  }

  /** Reports its progress */
  testToolWithProgress(): Promise<ToolResult> {
    return this.#call("test_tool_with_progress", undefined);
  }

  /** Sends log messages */
  testToolWithLogging(): Promise<ToolResult> {
    return this.#call("test_tool_with_logging", undefined);
  }

  /** Sends a log message */
  testLoggingTool(): Promise<ToolResult> {
    return this.#call("test_logging_tool", undefined);
  }

  /** Needs a client that samples */
  testMissingCapability(): Promise<ToolResult> {
    return this.#call("test_missing_capability", undefined);
  }

  /** Reports, then asks the user */
  testStreamingElicitation(): Promise<ToolResult> {
    return this.#call("test_streaming_elicitation", undefined);
  }

  /** Has a schema with the words of JSON Schema 2020-12 */
  jsonSchema202012Tool(
    name?: string,
    address?: unknown,
    contactMethod?: JsonSchema202012ToolContactMethod,
    phone?: string,
    email?: string,
  ): Promise<ToolResult> {
    return this.#call("json_schema_2020_12_tool", {
      name,
      address,
      contactMethod,
      phone,
      email,
    });
  }

  /** Returns an argument that travels in a header too */
  testHeader(region: string): Promise<ToolResult> {
    return this.#call("test_header", { region });
  }

  /** Has the client come back for its answer */
  testReconnection(): Promise<ToolResult> {
    return this.#call("test_reconnection", undefined);
  }

  /** Asks the client first */
  testInputRequiredResultElicitation(): Promise<ToolResult> {
    return this.#call("test_input_required_result_elicitation", undefined);
  }

  /** Asks the client first */
  testInputRequiredResultSampling(): Promise<ToolResult> {
    return this.#call("test_input_required_result_sampling", undefined);
  }

  /** Asks the client first */
  testInputRequiredResultListRoots(): Promise<ToolResult> {
    return this.#call("test_input_required_result_list_roots", undefined);
  }

  /** Asks the client first */
  testInputRequiredResultRequestState(): Promise<ToolResult> {
    return this.#call("test_input_required_result_request_state", undefined);
  }

  /** Asks the client first */
  testInputRequiredResultTamperedState(): Promise<ToolResult> {
    return this.#call("test_input_required_result_tampered_state", undefined);
  }

  /** Asks the client first */
  testInputRequiredResultMultipleInputs(): Promise<ToolResult> {
    return this.#call("test_input_required_result_multiple_inputs", undefined);
  }

  /** Asks the client first */
  testInputRequiredResultMultiRound(): Promise<ToolResult> {
    return this.#call("test_input_required_result_multi_round", undefined);
  }

  /** Asks the client first */
  testInputRequiredResultCapabilities(): Promise<ToolResult> {
    return this.#call("test_input_required_result_capabilities", undefined);
  }

  /** Asks the client's model */
  testSampling(prompt: string): Promise<ToolResult> {
    return this.#call("test_sampling", { prompt });
  }

  /** Asks the client's user */
  testElicitation(message: string): Promise<ToolResult> {
    return this.#call("test_elicitation", { message });
  }

  /** Asks with defaults */
  testElicitationSep1034Defaults(): Promise<ToolResult> {
    return this.#call("test_elicitation_sep1034_defaults", undefined);
  }

  /** Asks for choices */
  testElicitationSep1330Enums(): Promise<ToolResult> {
    return this.#call("test_elicitation_sep1330_enums", undefined);
  }

  /** The names of the client's folders */
  roots(): Promise<ToolResult> {
    return this.#call("roots", undefined);
  }

  /** Greets somebody by name */
  greet(name: string): Promise<ToolResult> {
    return this.#call("greet", { name });
  }

  /** Computes for a while */
  slowCompute(seconds: number, label?: string): Promise<ToolResult> {
    return this.#call("slow_compute", { seconds, label });
  }

  /** Fails after a second, as a task */
  failingJob(): Promise<ToolResult> {
    return this.#call("failing_job", undefined);
  }

  /** Ends with a JSON-RPC error */
  protocolErrorJob(): Promise<ToolResult> {
    return this.#call("protocol_error_job", undefined);
  }

  /** Deletes nothing, but asks whether it may */
  confirmDelete(filename: string): Promise<ToolResult> {
    return this.#call("confirm_delete", { filename });
  }

  /** Asks for two things at once */
  multiInput(): Promise<ToolResult> {
    return this.#call("multi_input", undefined);
  }

  /** Asks for a name, then works */
  testToolWithTask(): Promise<ToolResult> {
    return this.#call("test_tool_with_task", undefined);
  }

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

export interface DivideResult {
  quotient: number;
}

export type JsonSchema202012ToolContactMethod = "phone" | "email";
