//! Clients that send anything: the ensemble goes on, and other clients notice nothing.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vivarium_client::{CreateMode, Version};
use vivarium_model::id::Xid;
use vivarium_model::op::{Data, Op, ReadOp, Request};
use vivarium_model::packet::ClientPacket;
use vivarium_model::wire::handshake::encode_connect;
use vivarium_model::wire::request::encode_client;
use vivarium_model::wire::{Opcodes, Password};

fn frame(packet: &[u8]) -> Vec<u8> {
    [&u32::try_from(packet.len()).unwrap().to_be_bytes(), packet].concat()
}

fn hello() -> Vec<u8> {
    let timeout = Duration::from_secs(5);
    let session = None;
    let connect = ClientPacket::Connect {
        last_zxid_seen: Default::default(),
        timeout,
        session,
        read_only: false,
    };
    frame(&encode_connect(&connect, &Password::default()))
}

/// A right request, or one with bytes changed, cut or added, or no request at all.
fn anything(random: &mut fastrand::Rng, xid: u32) -> Vec<u8> {
    let path = ["/a", "/a/b", "", "a", "/zookeeper"][random.usize(..5)];
    let request = match random.u8(..5) {
        0 => Request::Write(Op::create(path, [7; 30], CreateMode::Persistent)),
        1 => Request::Write(Op::delete(path, Version::Any)),
        2 => Request::GetChildren { path: path.into(), watch: random.bool() },
        3 => Request::Multi(vec![Op::check(path, Version::Is(3)); random.usize(..5)]),
        _ => Request::Exists { path: path.into(), watch: true },
    };
    let packet = ClientPacket::Request { xid: Xid(xid), request: request.into() };
    let mut bytes = frame(&encode_client(&packet, Opcodes::Newest));
    match random.u8(..8) {
        0 => bytes = (0..random.usize(..200)).map(|_| random.u8(..)).collect(),
        1 => bytes.truncate(random.usize(..bytes.len())),
        2..=4 => {
            for _ in 0..random.usize(1..5) {
                let at = random.usize(..bytes.len());
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random.u8(..)][random.usize(..6)];
            }
        }
        _ => {}
    }
    bytes
}

/// Connects, sends, reads or does not read, and leaves in the middle.
async fn intruder(ensemble: &Ensemble, seed: u64, frames: usize) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut sent = 0;
    while sent < frames {
        let server = random.usize(..3);
        let Ok(mut stream) = TcpStream::connect(ensemble.addresses()[server]).await else {
            continue;
        };
        if random.u8(..10) > 0 && stream.write_all(&hello()).await.is_err() {
            continue;
        }
        for xid in 0..random.u32(1..60) {
            sent += 1;
            if stream.write_all(&anything(&mut random, xid)).await.is_err() {
                break;
            }
        }
        if random.bool() {
            let mut buffer = [0; 4096];
            let _ = timeout(Duration::from_millis(1), stream.read(&mut buffer)).await;
        }
    }
    sent
}

async fn undisturbed(ensemble: &Ensemble, frames: usize) -> usize {
    let client = connect(ensemble).await;
    let mut changes = client.session_events();
    soon(client.create("/own", b"0", CreateMode::Ephemeral)).await.unwrap();
    let mut sent = 0;
    let mut round = 0;
    while sent < frames {
        sent += intruder(ensemble, round, 200).await;
        round += 1;
        let (data, stat) = soon(client.get_data("/own")).await.expect("it is answered");
        let count: usize = std::str::from_utf8(&data).unwrap().parse().unwrap();
        let next = (count + 1).to_string();
        let version = Version::Is(stat.version);
        soon(client.set_data("/own", next.as_bytes(), version)).await.expect("it is alone here");
    }
    assert_eq!(changes.try_next(), None, "its connection is never lost");
    assert_eq!(soon(ensemble.violation()).await, None);
    sent
}

#[tokio::test]
async fn clients_that_send_anything_disturb_no_other() {
    let ensemble = ensemble(ServeOptions::default()).await;
    assert!(undisturbed(&ensemble, 20_000).await >= 20_000);
}

/// One million frames; `cargo test --release -p vivarium-zk --test serve -- --ignored --nocapture million`.
#[tokio::test]
#[ignore = "it takes minutes: .ci/run asks for it by itself"]
async fn a_million_frames() {
    let ensemble = ensemble(ServeOptions::default()).await;
    undisturbed(&ensemble, 50_000).await;
    let before = resident();
    let sent = undisturbed(&ensemble, 1_000_000).await;
    println!("{sent} frames, {before} kB before, {} kB after", resident());
}

/// A request of HTTP that is nearly right, or no request at all. None of its commands is one that faults follow from.
fn any_control(random: &mut fastrand::Rng) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "crash",
        "leader",
        "status",
        "sessions",
        "partition",
        "|",
        "next-reply",
        "0x10001",
        "-1",
        "99",
        "slow-disk",
        "99999999999999999999s",
        "save",
        "/etc/passwd",
        "{\"observer\":\"a\",\"says\":\"b\"}",
        "\u{0}\u{7f}é",
    ];
    let words: Vec<&str> =
        (0..random.usize(..5)).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
    let mut body = words.join(" ").into_bytes();
    if random.u8(..4) == 0 && !body.is_empty() {
        let at = random.usize(..body.len());
        body[at] = random.u8(..);
    }
    // What can be read as a command may be one that changes the ensemble.
    let text = String::from_utf8_lossy(&body);
    if text.trim().parse::<vivarium::serve::Command>().is_ok() {
        body = b"leader".to_vec();
    }
    const PATHS: [&str; 8] = [
        "/command",
        "/observe",
        "/status",
        "/servers/1/tree",
        "/servers/256/log",
        "/servers/2/commands/x%00y",
        "/..%2f..",
        "/openapi.json?a=b",
    ];
    let method = ["GET", "POST", "PUT", "OPTIONS"][random.usize(..4)];
    let path = PATHS[random.usize(..PATHS.len())];
    let length = if random.u8(..8) == 0 { random.usize(..100_000_000) } else { body.len() };
    let head = format!("{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    let mut bytes = [head.into_bytes(), body].concat();
    if random.u8(..6) == 0 {
        let at = random.usize(..bytes.len());
        bytes[at] = random.u8(..);
    }
    bytes
}

/// Sends requests over connections that are left in the middle, while a client of the ensemble works.
async fn undisturbed_by_controls(ensemble: &Ensemble, requests: usize) {
    let client = connect(ensemble).await;
    let mut changes = client.session_events();
    let address = ensemble.http().expect("it was asked for");
    let mut random = fastrand::Rng::with_seed(requests as u64);
    let mut sent = 0;
    while sent < requests {
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        for _ in 0..random.usize(1..60) {
            sent += 1;
            if stream.write_all(&any_control(&mut random)).await.is_err() {
                break;
            }
        }
        let mut buffer = [0; 4096];
        let _ = timeout(Duration::from_millis(1), stream.read(&mut buffer)).await;
        soon(client.exists("/")).await.expect("it is answered");
    }
    assert_eq!(changes.try_next(), None, "its connection is never lost");
    assert_eq!(soon(ensemble.violation()).await, None);
    let leader = command(ensemble, "leader").await;
    assert!(leader.starts_with("server "), "{leader}");
}

#[tokio::test]
async fn control_requests_that_are_anything_disturb_no_client() {
    let ensemble = ensemble(ServeOptions { http: Some(0), ..ServeOptions::default() }).await;
    undisturbed_by_controls(&ensemble, 10_000).await;
}

/// One million requests; `cargo test -p vivarium-zk --test serve -- --ignored --nocapture million`.
#[tokio::test]
#[ignore = "it takes a minute: .ci/run asks for it by itself"]
async fn a_million_control_requests() {
    let ensemble = ensemble(ServeOptions { http: Some(0), ..ServeOptions::default() }).await;
    undisturbed_by_controls(&ensemble, 50_000).await;
    let before = resident();
    undisturbed_by_controls(&ensemble, 1_000_000).await;
    let after = resident();
    println!("1,000,000 control requests, {before} kB before, {after} kB after");
    assert!(after < before + 50_000, "{before} kB, then {after} kB");
}

/// The memory of this process, in kB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// A client that reads nothing holds up no other, and not its server's memory.
#[tokio::test]
async fn a_client_that_reads_nothing_holds_up_itself() {
    let ensemble = ensemble(ServeOptions { servers: 1, ..ServeOptions::default() }).await;
    let client = connect(&ensemble).await;
    soon(client.create("/big", &[7; 100_000], CreateMode::Persistent)).await.unwrap();
    let mut stream = TcpStream::connect(ensemble.addresses()[0]).await.unwrap();
    stream.write_all(&hello()).await.unwrap();
    let long = format!("/{}", "x".repeat(2_000));
    let reads = ["/big", &long].map(|path| ReadOp::GetData { path: path.into() });
    let get = Request::MultiRead(reads.to_vec());
    let before = resident();
    let flood = async {
        for xid in 1..100_000 {
            let packet = ClientPacket::Request { xid: Xid(xid), request: get.clone().into() };
            stream.write_all(&frame(&encode_client(&packet, Opcodes::Newest))).await.unwrap();
        }
    };
    // The server stops reading long before all is sent.
    assert!(timeout(Duration::from_secs(3), flood).await.is_err());
    assert!(soon(client.get_data("/big")).await.is_ok());
    assert!(resident() < before + 200_000, "{before} kB, then {} kB", resident());
}

#[tokio::test]
async fn a_session_is_resumed_only_with_its_password() {
    let ensemble = ensemble(ServeOptions { servers: 1, ..ServeOptions::default() }).await;
    let client = connect(&ensemble).await;
    let mut resumed = client.resumed().expect("a session");
    resumed.password = Password([1; 16]);
    let address = ensemble.connect_string();
    let thief = soon(Client::builder(&address).resume(resumed).connect()).await;
    assert!(thief.is_err(), "{thief:?}");
    assert!(soon(client.exists("/")).await.is_ok(), "its owner notices nothing");
    let same = client.resumed().expect("a session");
    let moved = soon(Client::builder(&address).resume(same).connect()).await.unwrap();
    assert_eq!(moved.session(), client.session());
}

/// Returns a connection whose session is accepted.
async fn raw_session(ensemble: &Ensemble) -> TcpStream {
    let mut stream = TcpStream::connect(ensemble.addresses()[0]).await.unwrap();
    stream.write_all(&hello()).await.unwrap();
    let length = soon(stream.read_i32()).await.unwrap();
    let mut connected = vec![0; usize::try_from(length).unwrap()];
    soon(stream.read_exact(&mut connected)).await.unwrap();
    stream
}

/// `reconfig` is disabled, which its transaction says; an operation that is not known is answered without one, and ends the
/// connection.
#[tokio::test]
async fn operations_that_are_not_known_are_refused() {
    let ensemble = ensemble(ServeOptions { servers: 1, ..ServeOptions::default() }).await;
    let mut stream = raw_session(&ensemble).await;
    // Three lists that are null, and any version.
    let nothing = [[0xff; 12].as_slice(), &[0xff; 8]].concat();
    for (xid, opcode, arguments, code) in [(5, 16, &nothing[..], -123), (6, 99, &[], -6)] {
        let operation = [&i32::to_be_bytes(xid)[..], &i32::to_be_bytes(opcode), arguments].concat();
        stream.write_all(&frame(&operation)).await.unwrap();
        assert_eq!(soon(stream.read_i32()).await.unwrap(), 16);
        assert_eq!(soon(stream.read_i32()).await.unwrap(), xid);
        assert_eq!(soon(stream.read_i64()).await.unwrap() == -1, opcode == 99);
        assert_eq!(soon(stream.read_i32()).await.unwrap(), code);
    }
    assert_eq!(soon(stream.read(&mut [0; 8])).await.unwrap(), 0, "it is closed");
}

/// What is sent together with the ConnectRequest waits for the session, and a refusal waits for the replies before it. The
/// numbers of requests are the client's own, even if it uses one twice.
#[tokio::test]
async fn what_is_sent_at_once_is_answered_in_order() {
    let ensemble = ensemble(ServeOptions::default()).await;
    let mut stream = TcpStream::connect(ensemble.addresses()[0]).await.unwrap();
    let mut bytes = hello();
    let xids = [7, 0, 7, 7, i32::MAX, -5];
    for xid in xids {
        let request = Request::Write(Op::create("/x-", *b"", CreateMode::PersistentSequential));
        let xid = Xid(u32::from_ne_bytes(xid.to_ne_bytes()));
        let packet = ClientPacket::Request { xid, request: request.into() };
        bytes.extend(frame(&encode_client(&packet, Opcodes::Newest)));
    }
    bytes.extend(frame(&[i32::to_be_bytes(9), i32::to_be_bytes(99)].concat()));
    stream.write_all(&bytes).await.unwrap();
    let mut answers = Vec::new();
    soon(stream.read_to_end(&mut answers)).await.unwrap();
    let mut frames = Vec::new();
    while let Some((length, rest)) = answers.split_first_chunk::<4>() {
        let (frame, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        frames.push(frame.to_vec());
        answers = rest.to_vec();
    }
    let answered =
        frames[1..].iter().map(|frame| i32::from_be_bytes(*frame.first_chunk().unwrap()));
    assert_eq!(answered.collect::<Vec<_>>(), [7, 0, 7, 7, i32::MAX, -5, 9]);
    assert!(String::from_utf8_lossy(&frames[6]).contains("/x-0000000005"), "{:?}", frames[6]);
    assert_eq!(soon(ensemble.violation()).await, None);
}

/// The handshake of a client before 3.4 has no `readOnly`, in either direction.
#[tokio::test]
async fn an_old_handshake_is_answered_by_an_old_one() {
    let ensemble = ensemble(ServeOptions { servers: 1, ..ServeOptions::default() }).await;
    for (missing, length) in [(0, 37), (1, 36)] {
        let mut stream = TcpStream::connect(ensemble.addresses()[0]).await.unwrap();
        let connect = hello();
        stream.write_all(&frame(&connect[4..connect.len() - missing])).await.unwrap();
        assert_eq!(soon(stream.read_i32()).await.unwrap(), length);
        soon(stream.read_exact(&mut vec![0; length as usize])).await.unwrap();
        let exists = Request::Exists { path: "/".into(), watch: false };
        let packet = ClientPacket::Request { xid: Xid(3), request: exists.into() };
        stream.write_all(&frame(&encode_client(&packet, Opcodes::Newest))).await.unwrap();
        assert!(soon(stream.read_i32()).await.unwrap() > 16);
        assert_eq!(soon(stream.read_i32()).await.unwrap(), 3);
    }
}

/// The answer to SetWatches has the xid of the request: Apache's Java client numbers it like any other.
#[tokio::test]
async fn set_watches_is_answered_by_its_own_xid() {
    let ensemble = ensemble(ServeOptions { servers: 1, ..ServeOptions::default() }).await;
    let mut stream = raw_session(&ensemble).await;
    let watches = ClientPacket::SetWatches {
        relative_zxid: Default::default(),
        data: vec!["/".into()],
        exist: Vec::new(),
        child: Vec::new(),
        persistent: Vec::new(),
        recursive: Vec::new(),
    };
    for xid in [-8, 5, -8, 9] {
        let mut packet = encode_client(&watches, Opcodes::Newest);
        packet[..4].copy_from_slice(&i32::to_be_bytes(xid));
        stream.write_all(&frame(&packet)).await.unwrap();
        assert_eq!(soon(stream.read_i32()).await.unwrap(), 16);
        assert_eq!(soon(stream.read_i32()).await.unwrap(), xid);
        soon(stream.read_exact(&mut [0; 12])).await.unwrap();
    }
}

/// Clients tell `null` from an empty content: both are read as they were written, at every server.
#[tokio::test]
async fn null_is_read_as_null() {
    let ensemble = ensemble(ServeOptions::default()).await;
    let client = connect(&ensemble).await;
    soon(client.create("/empty", b"", CreateMode::Persistent)).await.unwrap();
    let null = Op::create("/null", Data::NULL, CreateMode::Persistent);
    soon(client.multi(vec![null])).await.unwrap();
    for address in ensemble.addresses() {
        let reader = soon(Client::builder(&address.to_string()).connect()).await.unwrap();
        soon(reader.sync("/")).await.unwrap();
        let (empty, stat) = soon(reader.get_data("/empty")).await.unwrap();
        assert!(!empty.is_null() && empty.is_empty() && stat.data_length == 0);
        let (null, stat) = soon(reader.get_data("/null")).await.unwrap();
        assert!(null.is_null() && null.is_empty() && stat.data_length == 0);
    }
}
