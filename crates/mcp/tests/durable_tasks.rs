//! Tasks in a file: a server that is started again knows them, also if it was killed, and a disk without room loses none.
//! What one caller may keep is limited in every store.

#![cfg(feature = "redb")]
#![allow(clippy::unwrap_used, clippy::print_stdout)] // A process of a test tells the other one by what it prints.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sabir::CallError;
use sabir_mcp::{
    McpClient, McpServer, McpSession, MemoryTasks, RedbTasks, Started, TaskRecord, TaskStatus, TaskStore,
    TaskStoreLimits, Tool,
};
use serde_json::json;

/// A server in a runtime of its own: when that is dropped, so is everything that runs in it, as if the process had ended.
fn process<T>(file: &Path, later: Duration, run: impl AsyncFnOnce(McpSession) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = RedbTasks::open(file).unwrap();
    let result = runtime.block_on(async {
        let server = McpServer::new("worker", "1.0.0")
            .clock(move || SystemTime::now() + later)
            .task_store(store)
            .tool(Tool::new("quick", "Is done at once").task(), |_, ()| async { Ok("done") })
            .tool(Tool::new("endless", "Is never done").task(), |_, ()| {
                std::future::pending::<Result<String, _>>()
            });
        run(McpClient::new("tester", "1.0.0").tasks().connect(server.in_memory()).await.unwrap()).await
    });
    drop(runtime);
    result
}

#[test]
fn a_server_that_is_started_again_knows_its_tasks() {
    let folder = std::env::temp_dir().join(format!("sabir-tasks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("tasks.redb");
    let (quick, endless) = process(&file, Duration::ZERO, async |session| {
        let Started::Task(mut quick) = session.call("quick", ()).start().await.unwrap() else { panic!() };
        let Started::Task(endless) = session.call("endless", ()).start().await.unwrap() else { panic!() };
        assert_eq!(quick.wait().await.unwrap().text(), "done");
        assert!(RedbTasks::open(&file).is_err(), "one process at a time");
        (quick.id().to_owned(), endless.id().to_owned())
    });
    process(&file, Duration::ZERO, async |session| {
        assert_eq!(session.task(&quick).await.unwrap().wait().await.unwrap().text(), "done");
        let mut ended = session.task(&endless).await.unwrap();
        assert_eq!(ended.task().status, TaskStatus::Failed);
        let Err(CallError::Error(error)) = ended.wait().await else { panic!() };
        assert!(error.data.unwrap().as_str().contains("the server was restarted"));
    });
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    // A record that cannot be read takes none of the others with it.
    {
        let database = redb::Database::open(&file).unwrap();
        let write = database.begin_write().unwrap();
        let table = redb::TableDefinition::<&str, &[u8]>::new("tasks");
        write.open_table(table).unwrap().insert("broken", b"{".as_slice()).unwrap();
        write.commit().unwrap();
    }
    process(&file, Duration::ZERO, async |session| {
        assert!(session.task(&quick).await.is_ok());
    });
    // Two hours later they have expired, and are removed though nobody asks.
    process(&file, Duration::from_secs(7200), async |session| {
        assert!(session.task(&quick).await.is_err());
    });
    let store = RedbTasks::open(&file).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert!(runtime.block_on(store.get(&quick)).unwrap().is_none());
    drop(store);
    std::fs::remove_dir_all(&folder).unwrap();
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sabir-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn record(id: &str, share: Option<&str>, text: &str, ttl: u64) -> TaskRecord {
    let record = json!({
        "id": id, "owner": share, "share": share, "tool": "t", "status": "completed", "status_message": null,
        "created": 0, "updated": 0, "ttl": ttl, "poll_interval": 1, "input_requests": {},
        "outcome": {"result": {"text": text}},
    });
    serde_json::from_value(record).unwrap()
}

#[tokio::test]
async fn one_caller_leaves_room_for_others() {
    let limits = TaskStoreLimits { tasks: 4, tasks_per_caller: 2, bytes: 4000, bytes_per_caller: 1000 };
    let folder = folder("shares");
    let memory = MemoryTasks::new(limits);
    let file = RedbTasks::with_limits(folder.join("tasks.redb"), limits).unwrap();
    for store in [&memory as &dyn TaskStore, &file] {
        let put = async |id: &str, share: &str, text: &str| {
            let record = record(id, Some(share), text, 10);
            store.put(&record).await.map_err(|error| error.kind())
        };
        let full = Err(ErrorKind::StorageFull);
        let long = "x".repeat(900);
        assert_eq!(put("a1", "ann", "").await, Ok(()));
        assert_eq!(put("a2", "ann", "").await, Ok(()));
        assert_eq!(put("a3", "ann", "").await, full, "the tasks of one caller");
        assert_eq!(put("a2", "ann", &long).await, Ok(()), "what is there may be replaced");
        assert_eq!(put("a1", "ann", &long).await, full, "the bytes of one caller");
        assert_eq!(put("b1", "bob", &long).await, Ok(()), "others have their own");
        assert_eq!(put("c1", "cid", "").await, Ok(()));
        assert_eq!(put("d1", "dan", "").await, full, "the tasks of all");
        // What was refused has changed nothing.
        let kept = store.get("a1").await.unwrap().unwrap();
        assert_eq!(kept, record("a1", Some("ann"), "", 10));
        assert!(store.get("a3").await.unwrap().is_none());
        // What expires makes room, for its caller and for all.
        store.expire(10).await.unwrap();
        assert_eq!(put("a3", "ann", &long).await, Ok(()));
        assert_eq!(put("d1", "dan", &long).await, Ok(()));
    }
    drop(file);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Another process that runs the test `child`, which does what the variable says with this file.
#[cfg(unix)]
fn started(what: &str, file: &Path, limit: &str) -> std::process::Child {
    let exe = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new("sh");
    // A write beyond the limit is then an error, and not the end of the process.
    command.args(["-c", &format!("trap '' XFSZ; {limit} exec \"$@\""), "sh"]).arg(exe);
    command.args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("SABIR_CHILD", what).env("SABIR_CHILD_FILE", file);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::inherit());
    command.spawn().unwrap()
}

#[cfg(unix)]
#[test]
#[ignore = "a process of the tests below"]
fn child() {
    let file = PathBuf::from(std::env::var_os("SABIR_CHILD_FILE").unwrap());
    match std::env::var("SABIR_CHILD").unwrap().as_str() {
        "killed" => process(&file, Duration::ZERO, async |session| {
            let Started::Task(mut quick) = session.call("quick", ()).start().await.unwrap() else { panic!() };
            let Started::Task(endless) = session.call("endless", ()).start().await.unwrap() else { panic!() };
            quick.wait().await.unwrap();
            println!("\nids {} {}", quick.id(), endless.id());
            std::future::pending::<()>().await;
        }),
        _ => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(until_it_is_full(&file));
        }
    }
}

/// The next line that begins like this.
#[cfg(unix)]
fn line(child: &mut std::process::Child, start: &str) -> String {
    use std::io::BufRead as _;
    let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).find(|line| line.starts_with(start)).unwrap()
}

#[cfg(unix)]
#[test]
fn a_server_that_was_killed_leaves_its_tasks() {
    let folder = folder("killed");
    let file = folder.join("tasks.redb");
    let mut running = started("killed", &file, "");
    let told = line(&mut running, "ids ");
    let ids: Vec<&str> = told.split(' ').skip(1).collect();
    // By SIGKILL: nothing is closed or written any more.
    running.kill().unwrap();
    running.wait().unwrap();
    process(&file, Duration::ZERO, async |session| {
        assert_eq!(session.task(ids[0]).await.unwrap().wait().await.unwrap().text(), "done");
        let mut ended = session.task(ids[1]).await.unwrap();
        assert_eq!(ended.task().status, TaskStatus::Failed);
        assert!(ended.wait().await.is_err());
    });
    std::fs::remove_dir_all(folder).unwrap();
}

/// Puts tasks until there is no room in the file, removes half of them, and goes on.
#[cfg(unix)]
async fn until_it_is_full(file: &Path) {
    let limits =
        TaskStoreLimits { tasks_per_caller: 10_000, bytes_per_caller: 64 << 20, ..Default::default() };
    let store = RedbTasks::with_limits(file, limits).unwrap();
    let text = "x".repeat(64 << 10);
    let task = |number: u64| record(&format!("{number:04}"), Some("ann"), &text, 1 + number % 2);
    let mut stored = 0;
    while store.put(&task(stored)).await.is_ok() {
        stored += 1;
        assert!(stored < 1000, "the file has no limit");
    }
    // What was stored is there, and what was refused is not.
    for number in 0..stored {
        assert!(store.get(&format!("{number:04}")).await.unwrap().is_some(), "{number} of {stored}");
    }
    assert!(store.get(&format!("{stored:04}")).await.unwrap().is_none());
    store.expire(1).await.unwrap();
    // A server tries again, too: what was removed makes room once that is written.
    let mut tries = 0;
    while let Err(error) = store.put(&task(9001)).await {
        tries += 1;
        assert!(tries < 5, "{error}");
    }
    println!("\nstored {stored}");
}

#[cfg(unix)]
#[test]
fn a_disk_without_room_loses_nothing() {
    let folder = folder("full");
    let file = folder.join("tasks.redb");
    let mut running = started("full", &file, "ulimit -f 8192;");
    let told = line(&mut running, "stored ");
    // It says so at its end, when it has checked all; nobody reads what its test prints behind that.
    running.wait().unwrap();
    let stored: u64 = told.trim_start_matches("stored ").parse().unwrap();
    assert!(stored > 1);
    let store = RedbTasks::open(&file).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for number in (0..stored).chain([9001]) {
        let found = runtime.block_on(store.get(&format!("{number:04}"))).unwrap();
        assert_eq!(found.is_some(), number % 2 == 1, "{number} of {stored}");
    }
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}
