use super::*;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

const LONG: Duration = Duration::from_secs(60);

fn terms(of: u32) -> Terms {
    Terms {
        version: "1.0".to_owned(),
        of,
        job: String::new(),
    }
}

fn listener() -> (TcpListener, String) {
    let listener = Leader::listen("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    (listener, at)
}

fn lead(listener: TcpListener, of: u32) -> JoinHandle<Result<Leader, MeetError>> {
    thread::spawn(move || Leader::gather(listener, terms(of), of, LONG, |_| {}))
}

fn join(at: &str, terms: Terms, rank: u32) -> Result<Member, MeetError> {
    Member::join(at, terms, rank, "there", LONG, |_| {})
}

/// A meeting of two.
fn met() -> (Leader, Member) {
    let (listener, at) = listener();
    let leader = lead(listener, 2);
    let member = join(&at, terms(2), 1).unwrap();
    (leader.join().unwrap().unwrap(), member)
}

#[test]
fn messages_and_pieces_come_in_their_order_and_clocks_agree_on_one_host() {
    let (mut leader, mut member) = met();
    assert_eq!(leader.present().collect::<Vec<_>>(), [1]);
    assert_eq!(leader.host(1), "there");
    leader.tell_all(&"go");
    let Some(Heard::Said(said)) = member.hear::<String>(LONG) else {
        panic!("nothing was said");
    };
    assert_eq!(said, "go");
    member.say(&7).unwrap();
    member.send_piece(b"bytes").unwrap();
    assert!(matches!(
        leader.hear::<u32>(LONG),
        Some((1, Heard::Said(7)))
    ));
    assert!(
        matches!(leader.hear::<u32>(LONG), Some((1, Heard::Piece(bytes))) if bytes == b"bytes")
    );
    // One host has one clock: the same moment is told within the error that is stated.
    let moment = std::time::Instant::now();
    let seen = member.instant(leader.timeline().ns(moment)).unwrap();
    let off = if seen > moment {
        seen - moment
    } else {
        moment - seen
    };
    assert!(
        off.as_nanos() <= u128::from(member.compared().error_ns),
        "{off:?}"
    );
    let again = member.compare().unwrap();
    let moved = again.ahead_ns.abs_diff(member.compared().ahead_ns);
    assert!(moved <= again.error_ns + member.compared().error_ns);
    leader.end();
    assert!(matches!(
        member.hear::<()>(LONG),
        Some(Heard::Gone(Gone::Ended))
    ));
}

#[test]
fn whoever_goes_away_is_gone_for_the_other() {
    let (mut leader, member) = met();
    drop(member);
    assert!(matches!(
        leader.hear::<()>(LONG),
        Some((1, Heard::Gone(Gone::Lost(_))))
    ));
    let (leader, mut member) = met();
    leader.give_up("the server is away");
    match member.hear::<()>(LONG) {
        Some(Heard::Gone(Gone::GaveUp(why))) => assert_eq!(why, "the server is away"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_does_not_fit_ends_it_for_all_with_one_line() {
    let other_version = Terms {
        version: "2.0".to_owned(),
        ..terms(3)
    };
    for (terms_of_other, rank, said) in [
        (terms(4), 2, "one of 4, rank 0 one of 3"),
        (other_version, 2, "inferometer 2.0, rank 0 is 1.0"),
        (terms(3), 1, "two ranks have the number 1"),
        (terms(3), 0, "two ranks have the number 0"),
        (terms(3), 7, "rank 7 on there is none of 3"),
    ] {
        let (listener, at) = listener();
        let leader = lead(listener, 3);
        let mut first = join(&at, terms(3), 1).unwrap();
        let refused = join(&at, terms_of_other, rank).err().unwrap().to_string();
        assert!(refused.contains(said), "{refused}");
        let leader = leader.join().unwrap().err().unwrap().to_string();
        assert!(leader.contains(said), "{leader}");
        match first.hear::<()>(LONG) {
            Some(Heard::Gone(Gone::GaveUp(why))) => assert!(why.contains(said), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn strangers_are_no_ones_business() {
    let (listener, at) = listener();
    let leader = lead(listener, 2);
    let mut browser = TcpStream::connect(&at).unwrap();
    browser.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut endless = TcpStream::connect(&at).unwrap();
    endless.write_all(&[0xff; 4096]).unwrap();
    let of_another_job = Terms {
        job: "slurm 9".to_owned(),
        ..terms(2)
    };
    let refused = join(&at, of_another_job, 1).err().unwrap().to_string();
    assert!(refused.contains("another measurement"), "{refused}");
    let member = join(&at, terms(2), 1).unwrap();
    assert!(leader.join().unwrap().is_ok());
    drop(member);
}

#[test]
fn those_who_do_not_come_are_named_and_may_be_done_without() {
    let short = Duration::from_millis(50);
    let (first, _) = listener();
    let missing = Leader::gather(first, terms(3), 3, short, |_| {})
        .err()
        .unwrap();
    assert!(
        missing
            .to_string()
            .starts_with("ranks 1, 2 of 3 did not come"),
        "{missing}"
    );
    let (second, at) = listener();
    let leader =
        thread::spawn(move || Leader::gather(second, terms(3), 2, Duration::from_secs(1), |_| {}));
    let _member = join(&at, terms(3), 2).unwrap();
    let leader = leader.join().unwrap().unwrap();
    assert_eq!(leader.missing(), [1]);
    let late = join(&at, terms(3), 1).err().unwrap().to_string();
    assert!(late.contains("too late"), "{late}");
}

#[test]
fn a_proxy_that_closes_until_rank_0_is_there_is_asked_again() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = proxy.local_addr().unwrap().to_string();
    let (leading, _) = listener();
    let behind = leading.local_addr().unwrap();
    let passing = thread::spawn(move || {
        for _ in 0..2 {
            drop(proxy.accept().unwrap());
        }
        let (front, _) = proxy.accept().unwrap();
        let back = TcpStream::connect(behind).unwrap();
        let one_way = |mut from: TcpStream, mut to: TcpStream| {
            thread::spawn(move || std::io::copy(&mut from, &mut to))
        };
        one_way(front.try_clone().unwrap(), back.try_clone().unwrap());
        one_way(back, front);
    });
    let leader = lead(leading, 2);
    let member = join(&at, terms(2), 1);
    assert!(member.is_ok(), "{:?}", member.err());
    passing.join().unwrap();
    assert!(leader.join().unwrap().is_ok());
}

#[test]
fn nobody_or_a_stranger_in_the_place_of_rank_0_is_said() {
    let (taken, at) = listener();
    drop(taken);
    let short = Duration::from_millis(50);
    let nobody = Member::join(&at, terms(2), 1, "here", short, |_| {})
        .err()
        .unwrap();
    assert!(nobody.to_string().contains("cannot be reached"), "{nobody}");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = server.local_addr().unwrap().to_string();
    let serving = thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        stream
    });
    let stranger = join(&at, terms(2), 1).err().unwrap();
    assert!(stranger.to_string().contains("is not rank 0"), "{stranger}");
    drop(serving.join());
}
