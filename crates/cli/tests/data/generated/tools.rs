// A client for the tools of sabir-everything. Made by `sabir generate --lang rust`; needs the crates sabir-mcp, serde and serde_json.
//
// let session = sabir_mcp::McpClient::new("my-program", "1.0").connect(transport).await?;
// let client = SabirEverything::new(session);

/// Calls the tools of sabir-everything.
#[derive(Clone)]
pub struct SabirEverything {
    session: sabir_mcp::McpSession,
}

impl std::fmt::Debug for SabirEverything {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SabirEverything")
    }
}

#[allow(clippy::all)]
impl SabirEverything {
    /// A client of this session.
    pub fn new(session: sabir_mcp::McpSession) -> Self {
        SabirEverything { session }
    }

    /// Returns a text
    pub fn test_simple_text(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_simple_text", ())
    }

    /// Returns an image
    pub fn test_image_content(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_image_content", ())
    }

    /// Returns a sound
    pub fn test_audio_content(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_audio_content", ())
    }

    /// Returns a resource
    pub fn test_embedded_resource(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_embedded_resource", ())
    }

    /// Returns a text, an image and a resource
    pub fn test_multiple_content_types(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_multiple_content_types", ())
    }

    /// Says that it waits, and never ends unless it is cancelled
    pub fn wait(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("wait", ())
    }

    /// How many waits were cancelled
    pub fn cancelled(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("cancelled", ())
    }

    /// Changes the list of tools
    pub fn test_trigger_tool_change(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_trigger_tool_change", ())
    }

    /// Changes the list of prompts
    pub fn test_trigger_prompt_change(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_trigger_prompt_change", ())
    }

    /// Tells those who have subscribed that a resource has changed
    pub fn touch(&self, uri: String) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            uri: String,
        }
        self.session.call("touch", Params { uri })
    }

    /// The sum of two integers
    pub fn add(&self, a: i64, b: i64) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            a: i64,
            b: i64,
        }
        self.session.call("add", Params { a, b })
    }

    /// Counts, and reports its progress
    pub fn count(&self, steps: u64) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            steps: u64,
        }
        self.session.call("count", Params { steps })
    }

    /// One number by another, as a number for programs
    pub async fn divide(&self, dividend: f64, divisor: f64) -> Result<DivideResult, NoResult> {
        #[derive(serde::Serialize)]
        struct Params {
            dividend: f64,
            divisor: f64,
        }
        let call = self.session.call("divide", Params { dividend, divisor });
        structured(call).await
    }

    /// Always fails
    pub fn test_error_handling(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_error_handling", ())
    }

    /// Reports its progress
    pub fn test_tool_with_progress(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_tool_with_progress", ())
    }

    /// Sends log messages
    pub fn test_tool_with_logging(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_tool_with_logging", ())
    }

    /// Sends a log message
    pub fn test_logging_tool(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_logging_tool", ())
    }

    /// Needs a client that samples
    pub fn test_missing_capability(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_missing_capability", ())
    }

    /// Reports, then asks the user
    pub fn test_streaming_elicitation(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_streaming_elicitation", ())
    }

    /// Has a schema with the words of JSON Schema 2020-12
    pub fn json_schema_2020_12_tool(
        &self,
        name: Option<String>,
        address: Option<serde_json::Value>,
        contact_method: Option<JsonSchema202012ToolContactMethod>,
        phone: Option<String>,
        email: Option<String>,
    ) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            #[serde(default, skip_serializing_if = "Option::is_none")]
            name: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            address: Option<serde_json::Value>,
            #[serde(rename = "contactMethod")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            contact_method: Option<JsonSchema202012ToolContactMethod>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            phone: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            email: Option<String>,
        }
        let params = Params {
            name,
            address,
            contact_method,
            phone,
            email,
        };
        self.session.call("json_schema_2020_12_tool", params)
    }

    /// Returns an argument that travels in a header too
    pub fn test_header(&self, region: String) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            region: String,
        }
        self.session.call("test_header", Params { region })
    }

    /// Has the client come back for its answer
    pub fn test_reconnection(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_reconnection", ())
    }

    /// Asks the client first
    pub fn test_input_required_result_elicitation(
        &self,
    ) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session
            .call("test_input_required_result_elicitation", ())
    }

    /// Asks the client first
    pub fn test_input_required_result_sampling(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_input_required_result_sampling", ())
    }

    /// Asks the client first
    pub fn test_input_required_result_list_roots(
        &self,
    ) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session
            .call("test_input_required_result_list_roots", ())
    }

    /// Asks the client first
    pub fn test_input_required_result_request_state(
        &self,
    ) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session
            .call("test_input_required_result_request_state", ())
    }

    /// Asks the client first
    pub fn test_input_required_result_tampered_state(
        &self,
    ) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session
            .call("test_input_required_result_tampered_state", ())
    }

    /// Asks the client first
    pub fn test_input_required_result_multiple_inputs(
        &self,
    ) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session
            .call("test_input_required_result_multiple_inputs", ())
    }

    /// Asks the client first
    pub fn test_input_required_result_multi_round(
        &self,
    ) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session
            .call("test_input_required_result_multi_round", ())
    }

    /// Asks the client first
    pub fn test_input_required_result_capabilities(
        &self,
    ) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session
            .call("test_input_required_result_capabilities", ())
    }

    /// Asks the client's model
    pub fn test_sampling(&self, prompt: String) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            prompt: String,
        }
        self.session.call("test_sampling", Params { prompt })
    }

    /// Asks the client's user
    pub fn test_elicitation(&self, message: String) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            message: String,
        }
        self.session.call("test_elicitation", Params { message })
    }

    /// Asks with defaults
    pub fn test_elicitation_sep1034_defaults(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_elicitation_sep1034_defaults", ())
    }

    /// Asks for choices
    pub fn test_elicitation_sep1330_enums(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_elicitation_sep1330_enums", ())
    }

    /// The names of the client's folders
    pub fn roots(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("roots", ())
    }

    /// Greets somebody by name
    pub fn greet(&self, name: String) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            name: String,
        }
        self.session.call("greet", Params { name })
    }

    /// Computes for a while
    pub fn slow_compute(
        &self,
        seconds: f64,
        label: Option<String>,
    ) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            seconds: f64,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            label: Option<String>,
        }
        self.session.call("slow_compute", Params { seconds, label })
    }

    /// Fails after a second, as a task
    pub fn failing_job(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("failing_job", ())
    }

    /// Ends with a JSON-RPC error
    pub fn protocol_error_job(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("protocol_error_job", ())
    }

    /// Deletes nothing, but asks whether it may
    pub fn confirm_delete(&self, filename: String) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        #[derive(serde::Serialize)]
        struct Params {
            filename: String,
        }
        self.session.call("confirm_delete", Params { filename })
    }

    /// Asks for two things at once
    pub fn multi_input(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("multi_input", ())
    }

    /// Asks for a name, then works
    pub fn test_tool_with_task(&self) -> sabir_mcp::McpCall<sabir_mcp::ToolResult> {
        self.session.call("test_tool_with_task", ())
    }
}

/// DivideResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DivideResult {
    /// quotient
    pub quotient: f64,
}

/// JsonSchema202012ToolContactMethod
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum JsonSchema202012ToolContactMethod {
    #[serde(rename = "phone")]
    Phone,
    #[serde(rename = "email")]
    Email,
}

/// Why a tool has no structured result.
#[derive(Debug)]
pub enum NoResult {
    /// The call failed.
    Call(sabir::CallError),
    /// The tool says that it failed, and why.
    Failed(sabir_mcp::ToolResult),
    /// What came is not what the tool declares.
    Decode(sabir_mcp::ToolResult),
}

impl std::fmt::Display for NoResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoResult::Call(error) => error.fmt(f),
            NoResult::Failed(result) => write!(f, "the tool failed: {}", result.text()),
            NoResult::Decode(_) => f.write_str("the result is not what the tool declares"),
        }
    }
}

impl std::error::Error for NoResult {}

async fn structured<T: serde::de::DeserializeOwned>(
    call: sabir_mcp::McpCall<sabir_mcp::ToolResult>,
) -> Result<T, NoResult> {
    let result = call.await.map_err(NoResult::Call)?;
    if result.is_error {
        return Err(NoResult::Failed(result));
    }
    let value = result.structured_content.as_ref();
    match value.and_then(|value| serde_json::from_str(value.as_str()).ok()) {
        Some(value) => Ok(value),
        None => Err(NoResult::Decode(result)),
    }
}
