//! Tasks in a file: a server that is started again knows them.

#![cfg(feature = "redb")]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, SystemTime};

use sabir::CallError;
use sabir_mcp::{McpClient, McpServer, McpSession, RedbTasks, Started, TaskStatus, TaskStore as _, Tool};

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
