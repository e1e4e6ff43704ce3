//! What a tool finds: a few variables, an empty folder, three descriptors, no network.

use std::fs::File;
use std::net::TcpListener;

use strongroom_tool::{Outcome, Subject};

use crate::place::Place;

fn stdout(place: &Place, script: &str, more: &str) -> String {
    let run = place.run(place.shell(script, more));
    assert_eq!(run.outcome, Outcome::Pass, "{run:?}");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn the_environment_is_short() {
    let place = Place::new();
    let text = stdout(&place, "pwd; env", "environment = { MODEL = \"a b\", LANG = \"C\" }");
    let (folder, variables) = text.split_once('\n').unwrap();
    assert!(folder.starts_with(place.path("scratch").to_str().unwrap()), "{text}");
    // The shell adds the last two.
    let mut names: Vec<&str> = variables.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LANG", "MODEL", "PATH", "TMPDIR"]);
    for line in [format!("HOME={folder}"), format!("TMPDIR={folder}"), "MODEL=a b".to_owned(), "LANG=C".to_owned()] {
        assert!(variables.lines().any(|found| found == line), "{line}: {text}");
    }
}

#[test]
fn the_working_folder_is_empty_and_private() {
    let place = Place::new();
    assert_eq!(stdout(&place, "ls -A; stat -c %a .; echo x > new; stat -c %a new", ""), "700\n600\n");
}

#[test]
fn no_descriptor_is_inherited_and_no_privilege_can_be_gained() {
    let place = Place::new();
    let open = File::open("/dev/null").unwrap();
    // As code that is not written in Rust may do.
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    // The shell itself has its script as number 10, and opens none to look.
    let script = "i=0; while [ $i -lt 200 ]; do [ -e /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done\n\
        grep NoNewPrivs /proc/$$/status";
    let text = stdout(&place, script, "");
    let open: Vec<&str> = text.lines().filter(|line| line.parse::<u32>().is_ok_and(|number| number != 10)).collect();
    assert_eq!(open, ["0", "1", "2"], "{text}");
    assert!(text.contains("NoNewPrivs:\t1"), "{text}");
}

#[test]
fn a_tool_has_a_session_of_its_own_and_gives_way() {
    let place = Place::new();
    // Fields of proc_pid_stat(5): the id, its session, its niceness.
    let text = stdout(&place, "set -- $(cat /proc/$$/stat); echo $1 $6 ${19}", "");
    let fields: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(fields[0], fields[1]);
    assert!(fields[2].parse::<i32>().unwrap() >= 10, "{text}");
}

#[test]
fn a_tool_without_network_has_unix_sockets_only() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "import socket\nsocket.socketpair()\nfor family in socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK:\n  try:\n    \
         socket.socket(family, socket.SOCK_DGRAM)\n    print('opened')\n  except PermissionError: print('refused')\ntry:\n  \
         socket.create_connection(('127.0.0.1', {port}))\n  print('connected')\nexcept PermissionError: print('refused')"
    );
    let run = place.run(place.python(&script, ""));
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "refused\n".repeat(4));
    let run = place.run(place.python(&script, "network = true"));
    assert_eq!(String::from_utf8(run.stdout).unwrap().lines().last(), Some("connected"));
}

#[test]
fn standard_input_is_empty_or_the_file() {
    let place = Place::new();
    assert_eq!(stdout(&place, "cat", ""), "");
    assert_eq!(stdout(&place, "cat", "stdin = \"file\""), "content\n");
}

#[test]
fn a_tool_need_not_read_its_standard_input() {
    let place = Place::new();
    place.write("file", vec![b'x'; 10 << 20]);
    assert_eq!(stdout(&place, "exec true", "stdin = \"file\""), "");
}

#[test]
fn what_is_known_of_the_file_comes_as_arguments_that_no_shell_reads() {
    let place = Place::new();
    let file = place.write("-a b;$(id)\n'\"", "x");
    let mut tool =
        place.shell("shift; for a in \"$@\"; do printf '[%s]' \"$a\"; done; wc -c < \"$1\" > /dev/null || exit 3", "");
    tool.arguments.remove(1);
    tool.arguments
        .extend(["skipped", "{file}", "--name={name}", "{{{puid}}}", "{folder}", "-m={mime}"].map(str::to_owned));
    let subject = Subject::of(&file).with("name", "$HOME `id` *").with("puid", "fmt/18");
    let run = place.run_for(tool, &subject).unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let start =
        format!("[{}][--name=$HOME `id` *][{{fmt/18}}][{}/tool-", file.display(), place.path("scratch").display());
    assert!(text.starts_with(&start) && text.ends_with("][-m=]"), "{text}");
    assert_eq!(run.outcome, Outcome::Pass, "{text}");
}

#[test]
fn many_tools_run_at_the_same_time() {
    let place = Place::new();
    let tool = place.shell("cat; echo $TMPDIR", "stdin = \"file\"").prepare().unwrap();
    let run = || place.runner().run(&tool, &Subject::of(place.path("file")), &|| Ok(())).unwrap().stdout;
    let mut all: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| (0..3).map(|_| run()).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.iter().all(|text| text.starts_with(b"content\n/")));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 24);
    assert_eq!(place.working_folders(), 0);
}
