//! Encrypted connections, to a server whose certificate is of an authority of these tests. The private key is of no other
//! use.
#![cfg(feature = "tls")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use support::{SESSION, Server};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Duration, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use vivarium_client::{Client, ConnectError};
use vivarium_model::id::Xid;
use vivarium_model::op::{Request, Response};
use vivarium_model::packet::ServerPacket;
use vivarium_model::zxid::Zxid;

const SOON: Duration = Duration::from_secs(10);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.expect("it takes too long")
}

/// Decrypts what clients send, and passes it on to `server`. Returns the connect string of the encrypted side.
async fn encrypted(server: &Server) -> String {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("server.key")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    let acceptor =
        TlsAcceptor::from(Arc::new(config.with_single_cert(vec![certificate], key).unwrap()));
    let server: SocketAddr = server.address().parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut client = acceptor.accept(client).await?;
                let mut server = TcpStream::connect(server).await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    format!("localhost:{port}")
}

/// Returns the settings of a client that trusts this authority, or none.
fn trusting(authority: Option<&[u8]>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if let Some(pem) = authority {
        roots.add(CertificateDer::from_pem_slice(pem).unwrap()).unwrap();
    }
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

#[tokio::test]
async fn an_encrypted_client_asks_and_closes() {
    let server = Server::new().await;
    let builder = Client::builder(&encrypted(&server).await);
    let client =
        tokio::spawn(builder.tls(trusting(Some(include_bytes!("authority.pem")))).connect());
    let mut connection = soon(server.accept_session()).await;
    let client = soon(client).await.unwrap().unwrap();
    assert_eq!(client.session(), Some(SESSION));
    // More than one record of TLS, in both directions.
    let large: Arc<[u8]> = vec![7; 100_000].into();
    let (zookeeper, sent) = (client.zookeeper(), Arc::clone(&large));
    let setting = tokio::spawn(async move {
        zookeeper.set_data("/a", &sent, vivarium_client::Version::Any).await?;
        zookeeper.get_data("/a").await
    });
    let (xid, request) = soon(connection.request()).await.unwrap();
    let Request::Write(vivarium_client::Op::SetData { data, .. }) = &*request else {
        panic!("{request:?}")
    };
    assert_eq!(**data, *large);
    let set = Ok(Response::Written(vivarium_client::OpResult::Set(Default::default())));
    let reply = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result: set };
    connection.send(&reply, Some(&request)).await;
    let (xid, request) = soon(connection.request()).await.unwrap();
    let result = Ok(Response::Data(Arc::clone(&large).into(), Default::default()));
    let reply = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result };
    connection.send(&reply, Some(&request)).await;
    assert_eq!(soon(setting).await.unwrap().unwrap().0, large.into());
    let closing = tokio::spawn(client.close());
    let (xid, request) = soon(connection.request()).await.unwrap();
    let closed = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result: Ok(Response::Closed) };
    connection.send(&closed, Some(&request)).await;
    soon(closing).await.unwrap();
}

/// A server whose certificate is of no known authority is no server, and neither is one that does not encrypt.
#[tokio::test]
async fn a_server_that_cannot_prove_itself_is_left() {
    let server = Server::new().await;
    let address = encrypted(&server).await;
    let within = Duration::from_millis(1_500);
    let unknown = Client::builder(&address).tls(trusting(None)).connect_within(within);
    assert!(matches!(soon(unknown.connect()).await, Err(ConnectError::TimedOut { .. })));
    let plain = Client::builder(&server.address())
        .tls(trusting(Some(include_bytes!("authority.pem"))))
        .connect_within(within);
    assert!(matches!(soon(plain.connect()).await, Err(ConnectError::TimedOut { .. })));
}
