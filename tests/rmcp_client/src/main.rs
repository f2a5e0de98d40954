//! Talks to the MCP server over standard input and output and over HTTP, in both protocol eras, and fails when an answer is
//! not as it should be. Shares no code with the server nor with the client that its own tests use.
//!
//!     rmcp-client PROGRAM        the program `bearsearch`, in an environment whose BEARSEARCH_HOME may be written to
use std::{
    error::Error,
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt, RoleClient,
    model::{CallToolRequestParams, CallToolResult, ProtocolVersion, ReadResourceRequestParams},
    service::RunningService,
    transport::{
        StreamableHttpClientTransport, TokioChildProcess, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;
type Client = RunningService<RoleClient, ()>;

const TOKEN: &str = "a-token-for-this-test-only";

fn eras() -> [(&'static str, ClientLifecycleMode); 2] {
    let newest = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    [("initialize", ClientLifecycleMode::Initialize), ("discover", newest)]
}

fn ensure(holds: bool, what: &str) -> Outcome<()> {
    if holds { Ok(()) } else { Err(what.into()) }
}

async fn call(client: &Client, name: &'static str, arguments: Value) -> Outcome<CallToolResult> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    Ok(client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await?)
}

fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|part| part.as_text()).map(|part| part.text.as_str()).collect()
}

/// Asks for everything that a program uses.
async fn talk(client: &Client) -> Outcome<usize> {
    let tools = client.list_all_tools().await?;
    ensure(tools.iter().any(|tool| tool.name == "note_search" && tool.output_schema.is_some()), "no note_search")?;

    let found = call(client, "note_search", json!({"query": "sourdough"})).await?;
    let data = found.structured_content.clone().ok_or("a search without structure")?;
    ensure(data["hits"][0]["title"] == "Bread", "the note is not found")?;
    ensure(text(&found).contains("<match note-id=\"Bread.md\""), "the text does not name the note")?;

    let read = call(client, "note_get", json!({"ids": [data["hits"][0]["id"]], "lines": ["3"]})).await?;
    let note = read.structured_content.ok_or("a note without structure")?;
    ensure(note["notes"][0]["text"] == "Feed the sourdough starter daily.", "the line is another one")?;

    let refused = call(client, "note_search", json!({"query": "x", "colection": "y"})).await?;
    ensure(refused.is_error == Some(true), "an unknown argument is accepted")?;
    ensure(text(&refused).contains("no argument 'colection'"), "the refusal does not name the argument")?;

    let listed = client.list_all_resources().await?;
    let uri = listed.first().ok_or("no resource is listed")?.uri.clone();
    let resource = client.read_resource(ReadResourceRequestParams::new(uri)).await?;
    ensure(!resource.contents.is_empty(), "a resource without contents")?;
    ensure(client.list_all_prompts().await?.iter().all(|prompt| prompt.description.is_some()), "a bare prompt")?;
    Ok(tools.len())
}

async fn over_stdio(program: &str, vault: &str) -> Outcome<()> {
    for (era, mode) in eras() {
        let mut command = tokio::process::Command::new(program);
        command.args(["mcp", "--no-semantic", "--vault", vault]);
        let client = ().serve_with_lifecycle(TokioChildProcess::new(command)?, mode).await?;
        let tools = talk(&client).await.map_err(|error| format!("stdio, {era}: {error}"))?;
        client.cancel().await?;
        println!("stdio, {era}: {tools} tools, search, get, refusal, resources, prompts");
    }
    Ok(())
}

/// The server's process; ended when it goes out of scope.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn over_http(program: &str, vault: &str) -> Outcome<()> {
    let child = std::process::Command::new(program)
        .args(["mcp", "--http", "--port", "0", "--no-semantic", "--vault", vault])
        .env("BEARSEARCH_MCP_TOKEN", TOKEN)
        .stderr(Stdio::piped())
        .spawn()?;
    let mut server = Server(child);
    let stderr = server.0.stderr.take().ok_or("no standard error")?;
    let line = BufReader::new(stderr).lines().next().ok_or("the server said nothing")??;
    let address = line.split_whitespace().find(|word| word.starts_with("http://")).ok_or("no address")?;
    let address = address.trim_end_matches(';').to_owned();
    for (era, mode) in eras() {
        let config = StreamableHttpClientTransportConfig::with_uri(address.clone()).auth_header(TOKEN);
        let client = ().serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), mode).await?;
        let tools = talk(&client).await.map_err(|error| format!("http, {era}: {error}"))?;
        client.cancel().await?;
        println!("http, {era}: {tools} tools, search, get, refusal, resources, prompts");
    }
    let config = StreamableHttpClientTransportConfig::with_uri(address).auth_header("another-token-than-that");
    let refused =
        ().serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), ClientLifecycleMode::Initialize)
            .await;
    ensure(refused.is_err(), "another token is accepted")?;
    println!("http: another token is refused");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let program = std::env::args().nth(1).ok_or("name the program `bearsearch`")?;
    let folder = std::env::temp_dir().join(format!("bearsearch-rmcp-{}", std::process::id()));
    let vault = folder.join("vault");
    fs::create_dir_all(&vault)?;
    fs::write(vault.join("Bread.md"), "# Bread\n\nFeed the sourdough starter daily.\n")?;
    // SAFETY: no other thread is running yet.
    unsafe { std::env::set_var("BEARSEARCH_HOME", folder.join("home")) };
    let vault = vault.to_string_lossy().into_owned();
    let done = async {
        over_stdio(&program, &vault).await?;
        over_http(&program, &vault).await
    };
    let done = done.await;
    fs::remove_dir_all(&folder)?;
    done
}
