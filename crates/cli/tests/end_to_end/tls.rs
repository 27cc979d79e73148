//! HTTPS with an authority of one's own.

use crate::support::{Place, Sim};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

const FEW: [&str; 6] = [
    "--requests",
    "6",
    "--concurrency",
    "2",
    "--output-tokens",
    "4",
];

/// An authority, and the files of those whom it vouches for.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn file(&self, place: &Place, name: &str) -> String {
        place.write(name, self.0.pem())
    }

    fn issue(&self, place: &Place, name: &str) -> [String; 2] {
        let key = KeyPair::generate().unwrap();
        let names = vec![name.to_owned(), "127.0.0.1".to_owned()];
        let certificate = CertificateParams::new(names)
            .unwrap()
            .signed_by(&key, &self.0)
            .unwrap();
        [
            place.write(&format!("{name}.crt"), certificate.pem()),
            place.write(&format!("{name}.key"), key.serialize_pem()),
        ]
    }
}

fn serve(authority: &Authority, place: &Place, more: &[&str]) -> Sim {
    let [cert, key] = authority.issue(place, "localhost");
    Sim::start(&[&["--tls-cert", &cert, "--tls-key", &key], more].concat())
}

#[test]
fn an_own_authority_is_trusted_where_named_and_mistrust_says_what_to_do() {
    let place = Place::new();
    let authority = Authority::new();
    let sim = serve(&authority, &place, &[]);
    assert!(sim.url.starts_with("https://"));
    let ca = authority.file(&place, "ca.crt");

    let trusted = place.measure(&sim.url, &[&FEW[..], &["--ca", &ca]].concat());
    trusted.assert_all_ok(6);
    let by_name = format!("https://localhost:{}", sim.port());
    place
        .measure(&by_name, &[&FEW[..], &["--ca", &ca]].concat())
        .assert_all_ok(6);
    let anything = place.measure(&sim.url, &[&FEW[..], &["--insecure"]].concat());
    anything.assert_all_ok(6);
    let path = anything.path.to_str().unwrap();
    let shown = place.run(&["report", path, "--lang", "en"]).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("certificates not checked (--insecure)"),
        "{shown}"
    );

    // Another authority, so that the host need not have any.
    let stranger = Authority::new().file(&place, "stranger.crt");
    place
        .run(&["run", &sim.url, "--lang", "en", "--ca", &stranger])
        .assert_refused(&["--ca", "--insecure"]);
}

#[test]
fn a_client_certificate_is_shown_where_the_server_wants_one() {
    let place = Place::new();
    let authority = Authority::new();
    let ca = authority.file(&place, "ca.crt");
    let sim = serve(&authority, &place, &["--tls-client-ca", &ca]);
    let [cert, key] = authority.issue(&place, "client");
    let run = place.measure(
        &sim.url,
        &[
            &FEW[..],
            &["--ca", &ca, "--client-cert", &cert, "--client-key", &key],
        ]
        .concat(),
    );
    run.assert_all_ok(6);
    place
        .run(&["run", &sim.url, "--lang", "en", "--ca", &ca])
        .assert_refused(&["--client-cert"]);
    let alone = place.run(&["run", &sim.url, "--ca", &ca, "--client-cert", &cert]);
    alone.assert_refused(&["--client-key"]);
}

#[test]
fn files_that_hold_no_certificate_are_told() {
    let place = Place::new();
    let file = place.write("none.crt", "nothing");
    let refused = place.run(&["run", "https://127.0.0.1:1", "--ca", &file]);
    refused.assert_refused(&["none.crt", "PEM"]);
    place
        .run(&["run", "https://127.0.0.1:1", "--ca", "nowhere.crt"])
        .assert_refused(&["nowhere.crt"]);
}

#[test]
fn http_to_an_https_port_and_the_reverse_are_told_apart() {
    let place = Place::new();
    let authority = Authority::new();
    let secure = serve(&authority, &place, &[]);
    let plain = secure.url.replace("https", "http");
    place
        .run(&["run", &plain, "--lang", "en"])
        .assert_refused(&["https://"]);
    let open = Sim::start(&[]);
    let ca = authority.file(&place, "ca.crt");
    let mistaken = open.url.replace("http", "https");
    place
        .run(&[
            "run",
            &mistaken,
            "--lang",
            "en",
            "--ca",
            &ca,
            "--connect-timeout",
            "1s",
        ])
        .assert_refused(&["http://"]);
}
