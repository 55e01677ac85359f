//! Schemas that every client takes: nothing to follow, one type for each member; and what is made of enums.

#![allow(clippy::unwrap_used)]

use sabir_mcp::{Icon, Json, McpClient, McpRevision, McpServer, Prompt, TaskSupport, Template, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Kelvin,
}

/// How it is written
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Style {
    /// In words
    Words,
    /// In digits
    Digits,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Place {
    city: String,
    country: Option<String>,
}

struct Weather;

#[sabir_mcp::tools]
impl Weather {
    /// The temperature
    #[tool(icon = "https://example.com/sun.png", task)]
    async fn temperature(
        &self,
        /// Where
        place: Place,
        /// Another place
        other: Option<Place>,
        unit: Option<Unit>,
        style: Option<Style>,
        days: Option<Vec<u8>>,
    ) -> String {
        format!("{} {:?} {other:?} {unit:?} {style:?} {days:?}", place.city, place.country)
    }
}

#[derive(Deserialize, JsonSchema)]
struct Report {
    unit: Unit,
    style: Option<Style>,
    city: String,
}

fn server() -> McpServer {
    McpServer::new("weather", "1.0.0")
        .tools(Weather)
        .prompt(Prompt::new("report", "Writes a report"), |_, Report { city, unit, style }| async move {
            Ok(format!("{city} {unit:?} {style:?}"))
        })
        .complete_prompt("report", "city", |_, _| async { Ok(vec!["Rome".to_owned()]) })
}

#[tokio::test]
async fn every_client_takes_them() {
    let session = McpClient::new("tester", "1.0.0").revision(McpRevision::V2025_11_25);
    let session = session.connect(server().in_memory()).await.unwrap();
    let tool = &session.tools().await.unwrap()[0];
    let schema: Value = tool.input_schema.parse().unwrap();
    let text = tool.input_schema.as_str();
    for word in ["$ref", "$defs", "null", "anyOf"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let property = |name: &str| schema["properties"][name].clone();
    assert_eq!(schema["required"], json!(["place"]));
    assert_eq!(property("unit"), json!({"type": "string", "enum": ["celsius", "kelvin"]}));
    assert_eq!(property("other")["description"], "Another place");
    assert_eq!(property("other")["properties"]["country"]["type"], "string");
    assert_eq!(property("days")["type"], "array");
    assert_eq!(tool.icons, [Icon::new("https://example.com/sun.png")]);
    assert_eq!(tool.execution.unwrap().task_support, TaskSupport::Optional);
    // What is said to be a text may be null all the same.
    let arguments = json!({"place": {"city": "Rome", "country": null}, "unit": "kelvin", "style": null});
    assert_eq!(
        session.call("temperature", arguments).await.unwrap().text(),
        "Rome None None Some(Kelvin) None None"
    );
}

#[tokio::test]
async fn arguments_that_are_enums_are_completed() {
    let session = McpClient::new("tester", "1.0.0").connect(server().in_memory()).await.unwrap();
    for (argument, value, want) in [
        ("unit", "", &["celsius", "kelvin"][..]),
        ("unit", "k", &["kelvin"]),
        ("style", "d", &["digits"]),
        ("city", "x", &["Rome"]),
    ] {
        assert_eq!(session.complete_prompt("report", argument, value).await.unwrap(), want, "{argument}");
    }
}

#[derive(Deserialize)]
struct Reading {
    unit: Unit,
    style: Option<Style>,
    city: String,
}

#[tokio::test]
async fn variables_that_are_enums_are_completed() {
    const READINGS: &str = "weather://{city}/{unit}/{style}";
    let server = McpServer::new("weather", "1.0.0")
        .template(Template::new(READINGS, "readings"), |_, Reading { city, unit, style }| async move {
            Ok(format!("{city} {unit:?} {style:?}"))
        })
        .complete_template(READINGS, "city", |_, _| async { Ok(vec!["Rome".to_owned()]) });
    let session = McpClient::new("tester", "1.0.0").connect(server.in_memory()).await.unwrap();
    for (variable, value, want) in [
        ("unit", "", &["celsius", "kelvin"][..]),
        ("style", "w", &["words"]),
        ("unit", "x", &[]),
        ("city", "", &["Rome"]),
    ] {
        assert_eq!(session.complete_template(READINGS, variable, value).await.unwrap(), want, "{variable}");
    }
}

#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all(serialize = "camelCase"))]
struct Sky {
    unit: Option<Unit>,
    cloud_cover: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_by: Option<Seen>,
    clouds: Vec<Option<Seen>>,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Seen {
    name: Option<String>,
}

/// Clients check what comes by the schema that was listed.
#[tokio::test]
async fn an_output_fits_its_schema_with_and_without_its_options() {
    let seen = |name: Option<&str>| Seen { name: name.map(str::to_owned) };
    let skies = [
        Sky { unit: None, cloud_cover: None, seen_by: None, clouds: vec![None, Some(seen(None))] },
        Sky {
            unit: Some(Unit::Kelvin),
            cloud_cover: Some(9),
            seen_by: Some(seen(Some("Ann"))),
            clouds: Vec::new(),
        },
    ];
    for sky in skies {
        let want = serde_json::to_value(&sky).unwrap();
        let server = McpServer::new("sky", "1.0.0").tool(Tool::new("sky", "The sky"), move |_, ()| {
            let sky = sky.clone();
            async move { Ok(Json(sky)) }
        });
        let session = McpClient::new("tester", "1.0.0").connect(server.in_memory()).await.unwrap();
        let tool = session.tools().await.unwrap().remove(0);
        let schema: Value = tool.output_schema.unwrap().parse().unwrap();
        let output: Value = session.call("sky", ()).await.unwrap().structured().unwrap().unwrap();
        assert_eq!(output, want);
        let faults: Vec<_> = jsonschema::validator_for(&schema)
            .unwrap()
            .iter_errors(&output)
            .map(|fault| fault.to_string())
            .collect();
        assert!(faults.is_empty(), "{faults:?}: {output} {schema}");
        // It says what there is: these names, and no others.
        assert!(schema["properties"]["cloudCover"].is_object(), "{schema}");
        let wrong = json!({"unit": "parsec", "cloudCover": -1, "clouds": [7]});
        assert_eq!(jsonschema::validator_for(&schema).unwrap().iter_errors(&wrong).count(), 3, "{schema}");
    }
}
