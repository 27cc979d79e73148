//! The driver on paused time, over connections in memory: what is sent when, and how it is
//! recorded, to the nanosecond and on any machine.

use inferometer_core::content::Content;
use inferometer_core::first_wave::FirstWave;
use inferometer_core::record::{Failure, FailureClass, Outcome, Phase, Record, Stage};
use inferometer_core::scenario::Hold;
use inferometer_core::units::{Offset, Span};
use inferometer_core::work::{Conversation, History};
use inferometer_load::api::{BodyTemplates, CHAT, RequestOptions};
use inferometer_load::clock::Clock;
use inferometer_load::connect::Transport;
use inferometer_load::exchange::Timeouts;
use inferometer_load::flight::Sink;
use inferometer_load::live::StageCounters;
use inferometer_load::pace::Pacer;
use inferometer_load::recorder::RecorderMessage;
use inferometer_load::setup::{Job, Jobs, RequestPlace, Route, Setup, WARMUP_SESSION};
use inferometer_load::worker::{LoadShare, Pacing, Requests, Stop, Window, Worker};
use inferometer_store::journal::Entry;
use inferometer_text::secret::Secrets;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::LocalSet;

thread_local! {
    /// What the servers of a test were sent.
    static HEARD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Servers in memory: each connection answers its requests by the script.
#[derive(Clone, Copy)]
struct InMemory {
    ttft: Duration,
    itl: Duration,
    tokens: u32,
    connect: Duration,
    habit: Habit,
    made: tokio::time::Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
    Normal,
    Silent,
    /// Closes each connection after an answer, without saying so.
    ClosesUnasked,
    /// Says one thing again and again, without a pause, until the client leaves; or, so that a
    /// test ends in any case, for some seconds.
    Babbles(&'static str),
    /// Refuses connections, and leaves those that it has, from 1 s to 2 s of the run.
    AwayForASecond,
    /// Answers every request with this status in that second.
    TurnsAwayForASecond(&'static str),
    /// Works on the second request of a connection for a while, and then drops it.
    DropsTheSecond,
}

impl InMemory {
    fn new(ttft_ms: u64, itl_ms: u64, tokens: u32) -> Self {
        InMemory {
            ttft: ms(ttft_ms),
            itl: ms(itl_ms),
            tokens,
            connect: Duration::ZERO,
            habit: Habit::Normal,
            made: tokio::time::Instant::now(),
        }
    }

    fn is_away(&self) -> bool {
        let age = self.made.elapsed();
        ms(1_000) <= age && age < ms(2_000)
    }

    async fn serve(self, mut stream: DuplexStream) {
        let mut piece = vec![0; 64 << 10];
        loop {
            // One request a read: what the client writes at once comes at once.
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(_) if self.habit == Habit::Silent => std::future::pending().await,
                Ok(length) => HEARD.with_borrow_mut(|heard| {
                    heard.push(String::from_utf8_lossy(&piece[..length]).into_owned());
                }),
            }
            if let Habit::Babbles(what) = self.habit {
                let begun = std::time::Instant::now();
                let many = what.repeat(1_000);
                while begun.elapsed() < Duration::from_secs(20)
                    && stream.write_all(many.as_bytes()).await.is_ok()
                {}
                return;
            }
            if let Habit::TurnsAwayForASecond(status) = self.habit
                && self.is_away()
            {
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
                continue;
            }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            let begun = tokio::time::Instant::now();
            let _ = stream.write_all(head.as_bytes()).await;
            for token in 0..self.tokens {
                tokio::time::sleep_until(begun + self.ttft + self.itl * token).await;
                let finish = if token + 1 == self.tokens {
                    "\"length\""
                } else {
                    "null"
                };
                let event = format!(
                    "data: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}},\"finish_reason\":{finish}}}]}}\n\n"
                );
                if stream
                    .write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
                    .await
                    .is_err()
                {
                    return;
                }
            }
            let _ = stream.write_all(b"0\r\n\r\n").await;
            match self.habit {
                Habit::Normal
                | Habit::Silent
                | Habit::Babbles(_)
                | Habit::TurnsAwayForASecond(_) => {}
                Habit::AwayForASecond if self.is_away() => return,
                Habit::AwayForASecond => {}
                Habit::ClosesUnasked => {
                    // The next request is already on its way when the connection goes.
                    let _ = stream.read(&mut piece).await;
                    return;
                }
                Habit::DropsTheSecond => {
                    let _ = stream.read(&mut piece).await;
                    tokio::time::sleep(ms(300)).await;
                    return;
                }
            }
        }
    }
}

impl Transport for InMemory {
    type Stream = DuplexStream;

    async fn open(&self) -> Result<DuplexStream, Failure> {
        tokio::time::sleep(self.connect).await;
        if self.habit == Habit::AwayForASecond && self.is_away() {
            return Err(Failure {
                phase: Phase::Connect,
                class: FailureClass::Refused,
                detail: String::new(),
            });
        }
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        tokio::task::spawn_local(self.serve(theirs));
        Ok(ours)
    }

    fn is_open(_: &mut DuplexStream) -> bool {
        true
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn open_from(from: Offset) -> Window {
    Window::Open { from, to: None }
}

fn at(millis: u64) -> Offset {
    Offset::after(ms(millis))
}

struct Questions;

impl Jobs for Questions {
    fn turns(&self, _session: u64) -> u32 {
        3
    }

    fn job(&self, session: u64, turn: u32) -> Job {
        Job {
            content: Content::Text(format!("question {session}.{turn}").into()),
            chars: 12,
            answer: Some(format!("known answer {turn}").into()),
            ..Job::default()
        }
    }
}

/// A worker with a phase to run, and what it records.
struct Bed {
    worker: Rc<Worker<InMemory>>,
    setup: Arc<Setup<InMemory>>,
    entries: Receiver<RecorderMessage>,
    stop: watch::Sender<Stop>,
    window: watch::Sender<Window>,
}

fn setup(server: InMemory, timeouts: Timeouts, talk: Option<Conversation>) -> Setup<InMemory> {
    Setup {
        routes: vec![Route {
            transport: server,
            path: "/v1/chat/completions".into(),
            host: "memory".into(),
            headers: Vec::new(),
            url: "memory".into(),
        }],
        dialect: CHAT,
        options: RequestOptions {
            model: "m".into(),
            stream: true,
            ..RequestOptions::default()
        },
        bodies: BodyTemplates::default(),
        models: Vec::new(),
        jobs: Arc::new(Questions),
        cancel: None,
        keep_text: talk.is_some(),
        conversation: talk,
        warmup_from: WARMUP_SESSION,
        first_wave: None,
        timeouts,
        clock: Clock::start(),
        run_id: "test".into(),
        traced: false,
        rank: None,
    }
}

impl Bed {
    /// Ends what is measured at that moment.
    fn close_at(&self, at: Offset) {
        self.window.send_if_modified(|window| window.close_at(at));
    }

    fn new(server: InMemory, timeouts: Timeouts) -> Bed {
        Bed::talking(server, timeouts, None)
    }

    fn talking(server: InMemory, timeouts: Timeouts, talk: Option<Conversation>) -> Bed {
        Bed::of(setup(server, timeouts, talk))
    }

    fn of(setup: Setup<InMemory>) -> Bed {
        let setup = Arc::new(setup);
        let (sender, entries) = std::sync::mpsc::channel();
        let sink = Sink {
            entries: sender,
            live: Arc::new(StageCounters::new(0)),
            slos: Arc::new([]),
            secrets: Arc::new(Secrets::default()),
        };
        Bed {
            worker: Rc::new(Worker::new(Arc::clone(&setup), sink, Pacer::Ticks)),
            setup,
            entries,
            stop: watch::Sender::new(Stop::Go),
            window: watch::Sender::new(open_from(Offset(0))),
        }
    }

    fn part(&self, pacing: Pacing, due: &[Option<Offset>]) -> LoadShare {
        // All requests are ready, so that paused time does not run ahead of a thread.
        let mut requests = Vec::new();
        for (index, due) in (0u64..).zip(due) {
            let talks = self.setup.conversation.is_some();
            let turns = if talks { Questions.turns(index) } else { 1 };
            let place = RequestPlace {
                session: index,
                turn: 0,
                turns,
                index: index * u64::from(turns),
                stage: Stage::Measured,
            };
            requests.push(self.setup.prepare(place, *due, &[]));
        }
        LoadShare {
            pacing,
            warmup: None,
            requests: Requests::ready(requests),
            start: Offset(0),
            hold: Hold::None,
            drain: None,
            window: self.window.subscribe(),
        }
    }

    async fn run(&self, part: LoadShare) -> Vec<Record> {
        let stop = self.stop.subscribe();
        LocalSet::new()
            .run_until(Rc::clone(&self.worker).run_share(part, stop))
            .await;
        self.records()
    }

    fn records(&self) -> Vec<Record> {
        let ended = self.entries.try_iter().filter_map(|left| match left.entry {
            Entry::End(record) => Some(record.into_owned()),
            Entry::Begin(_) | Entry::Progress(_) | Entry::Client(_) => None,
        });
        let mut records: Vec<Record> = ended.collect();
        records.sort_by_key(|record| record.index);
        records
    }
}

const PATIENT: Timeouts = Timeouts {
    read: Duration::from_secs(60),
    request: Duration::from_secs(600),
};

/// tokio's timers tick in milliseconds, so a paused moment may be one later than asked.
fn within_a_tick(seen: Duration, expected: Duration) -> bool {
    seen >= expected && seen <= expected + ms(2)
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_sends_the_next_request_when_the_last_answer_is_complete() {
    let bed = Bed::new(InMemory::new(100, 10, 5), PATIENT);
    let part = bed.part(Pacing::Closed(vec![Offset(0)]), &[None; 3]);
    let records = bed.run(part).await;
    assert_eq!(records.len(), 3);
    for (place, record) in records.iter().enumerate() {
        assert!(record.is_done() && record.due.is_none());
        assert_eq!(record.chunks.len(), 5);
        assert!(within_a_tick(record.ttft().unwrap(), ms(100)));
        assert!(within_a_tick(record.e2e().unwrap(), ms(140)), "{place}");
    }
    assert!(records[1].sent.unwrap() >= records[0].end.unwrap());
    assert!(
        records[0].connect.is_some() && records[1].connect.is_none(),
        "the connection is kept"
    );
}

#[tokio::test(start_paused = true)]
async fn the_streams_of_a_closed_loop_begin_when_they_were_told() {
    let bed = Bed::new(InMemory::new(100, 10, 2), PATIENT);
    let begins = vec![at(0), at(50), at(100)];
    let part = bed.part(Pacing::Closed(begins.clone()), &[None; 3]);
    let records = bed.run(part).await;
    let mut sent: Vec<Offset> = records.iter().map(|record| record.sent.unwrap()).collect();
    sent.sort();
    for (sent, begin) in sent.iter().zip(begins) {
        assert!(
            within_a_tick(sent.as_duration(), begin.as_duration()),
            "{sent:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_loop_sends_at_the_due_times_whatever_the_server_does() {
    let bed = Bed::new(InMemory::new(5_000, 10, 2), PATIENT);
    let due = [Some(at(0)), Some(at(10)), Some(at(500))];
    let records = bed.run(bed.part(Pacing::Open { cap: None }, &due)).await;
    assert_eq!(records.len(), 3);
    for (record, due) in records.iter().zip(due) {
        assert_eq!(record.due, due);
        assert!(record.lag().unwrap() <= ms(2), "{:?}", record.lag());
        assert!(within_a_tick(record.ttft().unwrap(), ms(5_000)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cap_makes_requests_wait_and_charges_the_wait_to_their_latency() {
    let bed = Bed::new(InMemory::new(100, 0, 1), PATIENT);
    let cap = Some(Arc::new(Semaphore::new(1)));
    let due = [Some(at(0)), Some(at(0)), Some(at(0))];
    let records = bed.run(bed.part(Pacing::Open { cap }, &due)).await;
    for (turn, record) in (0u64..).zip(&records) {
        let waited = ms(100) * turn as u32;
        assert!(
            record.cap_wait.unwrap() >= waited,
            "{turn}: {:?}",
            record.cap_wait
        );
        assert!(record.ttft().unwrap() >= waited + ms(100));
        assert!(
            record.lag().unwrap() <= ms(4),
            "a cap is not the client's lateness"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn connecting_is_told_apart_from_lateness() {
    let mut server = InMemory::new(100, 0, 1);
    server.connect = ms(40);
    let bed = Bed::new(server, PATIENT);
    let records = bed
        .run(bed.part(Pacing::Open { cap: None }, &[Some(at(0))]))
        .await;
    assert!(within_a_tick(records[0].connect.unwrap(), ms(40)));
    assert!(records[0].lag().unwrap() <= ms(2));
    assert!(
        records[0].ttft().unwrap() >= ms(140),
        "the user waits for the connection too"
    );
    assert!(within_a_tick(records[0].ttft_from_sent().unwrap(), ms(100)));
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_request_at_the_read_timeout_and_a_long_one_at_the_request_timeout() {
    let mut server = InMemory::new(100, 10, 5);
    server.habit = Habit::Silent;
    let short = Timeouts {
        read: ms(300),
        request: ms(5_000),
    };
    let bed = Bed::new(server, short);
    let records = bed
        .run(bed.part(Pacing::Closed(vec![Offset(0)]), &[None]))
        .await;
    let failure = records[0].failure().unwrap();
    assert_eq!(failure.class, FailureClass::ReadTimeout);
    assert!(within_a_tick(
        records[0].end.unwrap().since(records[0].sent.unwrap()),
        ms(300)
    ));

    let bed = Bed::new(
        InMemory::new(100, 200, 100),
        Timeouts {
            read: ms(300),
            request: ms(1_000),
        },
    );
    let records = bed
        .run(bed.part(Pacing::Closed(vec![Offset(0)]), &[None]))
        .await;
    assert_eq!(
        records[0].failure().unwrap().class,
        FailureClass::RequestTimeout
    );
    assert_eq!(records[0].chunks.len(), 5, "what came until then is kept");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_turns_everybody_away_is_asked_ever_more_rarely() {
    for status in ["503 Service Unavailable", "429 Too Many Requests"] {
        let mut server = InMemory::new(20, 10, 3);
        server.habit = Habit::TurnsAwayForASecond(status);
        let bed = Bed::new(server, PATIENT);
        let part = bed.part(Pacing::Closed(vec![Offset(0); 4]), &[None; 400]);
        let records = bed.run(part).await;
        let turned_away = records.iter().filter(|it| it.was_turned_away()).count();
        assert!((8..60).contains(&turned_away), "{status}: {turned_away}");
        let done = records.iter().filter(|it| it.is_done()).count();
        assert_eq!(done + turned_away, 400, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_a_second_costs_a_closed_loop_few_requests() {
    let mut server = InMemory::new(20, 10, 3);
    server.habit = Habit::AwayForASecond;
    let bed = Bed::new(server, PATIENT);
    let part = bed.part(Pacing::Closed(vec![Offset(0); 4]), &[None; 400]);
    let records = bed.run(part).await;
    let nobody = records.iter().filter(|record| record.found_nobody());
    let (nobody, ok) = (
        nobody.count(),
        records.iter().filter(|r| r.is_done()).count(),
    );
    assert!((8..60).contains(&nobody), "{nobody} requests found nobody");
    assert!(ok > 300, "{ok} answers");
    let back = records
        .iter()
        .filter(|record| record.is_done() && record.sent > Some(at(2_000)));
    let streams_again: Vec<Offset> = back.filter_map(|record| record.sent).take(4).collect();
    assert!(
        streams_again.iter().all(|&sent| sent < at(3_100)),
        "{streams_again:?}"
    );
}

#[tokio::test]
async fn a_server_that_never_pauses_does_not_outlive_the_limits_of_a_request() {
    let hasty = Timeouts {
        read: ms(30_000),
        request: ms(200),
    };
    // Without a length or chunks, the body lasts as long as the connection.
    let comments = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: still here\n\n";
    let tokens = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n";
    for (what, timeouts, class) in [
        (comments, hasty, FailureClass::RequestTimeout),
        (
            "HTTP/1.1 100 Continue\r\n\r\n",
            PATIENT,
            FailureClass::BadStream,
        ),
        (tokens, PATIENT, FailureClass::TooLong),
    ] {
        let mut server = InMemory::new(0, 0, 1);
        server.habit = Habit::Babbles(what);
        let bed = Bed::new(server, timeouts);
        let part = bed.part(Pacing::Closed(vec![Offset(0)]), &[None]);
        let records = bed.run(part).await;
        assert_eq!(records[0].failure().unwrap().class, class, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_when_the_drain_ends_is_cut_and_keeps_its_tokens() {
    let bed = Bed::new(InMemory::new(100, 100, 50), PATIENT);
    let mut part = bed.part(Pacing::Closed(vec![Offset(0), Offset(0)]), &[None; 10]);
    bed.close_at(at(150));
    part.drain = Some(ms(200));
    let records = bed.run(part).await;
    assert_eq!(records.len(), 2, "nothing is sent after the time is over");
    for record in &records {
        assert_eq!(record.outcome, Outcome::Cut);
        assert!(
            (2..=4).contains(&record.chunks.len()),
            "{}",
            record.chunks.len()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_drain_sends_nothing_more_and_lets_answers_come() {
    let bed = Rc::new(Bed::new(InMemory::new(100, 10, 5), PATIENT));
    let due: Vec<_> = (0..10).map(|turn| Some(at(turn * 100))).collect();
    let part = bed.part(Pacing::Open { cap: None }, &due);
    let stop = bed.stop.clone();
    let stopping = async {
        tokio::time::sleep(ms(250)).await;
        stop.send_replace(Stop::Drain);
    };
    let (records, ()) = tokio::join!(bed.run(part), stopping);
    assert_eq!(records.len(), 3);
    assert!(records.iter().all(Record::is_done));
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_leave_cuts_what_is_under_way_at_once() {
    let bed = Rc::new(Bed::new(InMemory::new(100, 100, 50), PATIENT));
    let part = bed.part(Pacing::Closed(vec![Offset(0)]), &[None; 3]);
    let stop = bed.stop.clone();
    let stopping = async {
        tokio::time::sleep(ms(350)).await;
        stop.send_replace(Stop::Leave);
    };
    let (records, ()) = tokio::join!(bed.run(part), stopping);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].outcome, Outcome::Cut);
    assert_eq!(records[0].chunks.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_finds_its_kept_connection_closed_is_sent_once_more_and_says_so() {
    let mut server = InMemory::new(100, 10, 2);
    server.habit = Habit::ClosesUnasked;
    let bed = Bed::new(server, PATIENT);
    let records = bed
        .run(bed.part(Pacing::Closed(vec![Offset(0)]), &[None; 3]))
        .await;
    assert!(records.iter().all(Record::is_done));
    let resent: Vec<bool> = records.iter().map(|record| record.resent).collect();
    assert_eq!(resent, [false, true, true]);
    assert!(
        within_a_tick(records[1].ttft().unwrap(), ms(100)),
        "counted from the second sending"
    );
}

/// What the journal hears of a load: kinds of entries, with their chunks.
async fn journaled(bed: &Bed, part: LoadShare) -> Vec<(&'static str, usize)> {
    let stop = bed.stop.subscribe();
    LocalSet::new()
        .run_until(Rc::clone(&bed.worker).run_share(part, stop))
        .await;
    let heard = bed.entries.try_iter().map(|message| match message.entry {
        Entry::Begin(record) => ("begin", record.chunks.len()),
        Entry::Progress(progress) => ("progress", progress.chunks.len()),
        Entry::End(record) => ("end", record.chunks.len()),
        Entry::Client(_) => ("client", 0),
    });
    heard.collect()
}

#[tokio::test(start_paused = true)]
async fn the_journal_hears_of_a_short_request_once() {
    let bed = Bed::new(InMemory::new(100, 10, 5), PATIENT);
    let part = bed.part(Pacing::Closed(vec![Offset(0)]), &[None; 3]);
    assert_eq!(journaled(&bed, part).await, [("end", 5); 3]);
}

#[tokio::test(start_paused = true)]
async fn the_journal_hears_of_a_request_before_its_first_second_is_over() {
    let bed = Bed::new(InMemory::new(5_000, 10, 5), PATIENT);
    let mut part = bed.part(Pacing::Closed(vec![Offset(0)]), &[None]);
    bed.close_at(at(10));
    part.drain = Some(Duration::from_millis(950));
    assert_eq!(journaled(&bed, part).await, [("begin", 0), ("end", 0)]);
}

#[tokio::test(start_paused = true)]
async fn the_journal_hears_at_once_of_a_request_that_cannot_be_written() {
    let mut setup = setup(InMemory::new(100, 10, 5), PATIENT, None);
    // More than the connection holds, and nobody reads it but in small pieces.
    setup.options.model = "m".repeat(200 << 10);
    let bed = Bed::of(setup);
    let part = bed.part(Pacing::Closed(vec![Offset(0)]), &[None]);
    let heard = journaled(&bed, part).await;
    assert_eq!(heard.first(), Some(&("begin", 0)), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn the_journal_hears_of_a_long_answer_while_it_comes() {
    let bed = Bed::new(InMemory::new(100, 100, 50), PATIENT);
    let part = bed.part(Pacing::Closed(vec![Offset(0)]), &[None]);
    let seen = journaled(&bed, part).await;
    assert!(
        seen.first().is_some_and(|first| first.0 == "begin"),
        "{seen:?}"
    );
    assert_eq!(seen.last(), Some(&("end", 50)));
    let told: usize = seen
        .iter()
        .filter(|(kind, _)| *kind != "end")
        .map(|(_, chunks)| chunks)
        .sum();
    assert!(
        told >= 40,
        "at most the last second is unknown: {told} of 50"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_drops_a_request_after_some_work_has_failed() {
    let mut server = InMemory::new(100, 10, 2);
    server.habit = Habit::DropsTheSecond;
    let bed = Bed::new(server, PATIENT);
    let records = bed
        .run(bed.part(Pacing::Closed(vec![Offset(0)]), &[None; 4]))
        .await;
    let done: Vec<bool> = records.iter().map(Record::is_done).collect();
    assert_eq!(done, [true, false, true, false]);
    let class = records[1].failure().unwrap().class;
    assert_eq!(class, FailureClass::Disconnected);
    assert!(records.iter().all(|record| !record.resent));
}

#[tokio::test(start_paused = true)]
async fn what_still_waits_at_the_cap_when_the_run_ends_is_recorded_as_cut() {
    let bed = Bed::new(InMemory::new(100, 100, 50), PATIENT);
    let cap = Some(Arc::new(Semaphore::new(1)));
    let mut part = bed.part(
        Pacing::Open { cap },
        &[Some(at(0)), Some(at(0)), Some(at(10))],
    );
    bed.close_at(at(100));
    part.drain = Some(ms(200));
    let records = bed.run(part).await;
    assert_eq!(records.len(), 3, "every arrival is accounted for");
    assert!(records.iter().all(|record| record.outcome == Outcome::Cut));
    let sent: Vec<bool> = records.iter().map(|record| record.sent.is_some()).collect();
    assert_eq!(sent, [true, false, false]);
    assert!(records.iter().all(|record| record.due.is_some()));
}

fn talk(think_ms: u64, history: History) -> Option<Conversation> {
    Some(Conversation {
        turns: None,
        think: Some(Span(ms(think_ms))),
        history,
    })
}

/// Due times follow from the answer before: its end and the time to think.
fn assert_turns_follow(records: &[Record], think: Duration) {
    for session in records.chunks(3) {
        for (turn, record) in (0u32..).zip(session) {
            assert!(record.is_done());
            assert_eq!(record.turn, Some(turn));
            assert_eq!(record.session, session[0].session);
        }
        for pair in session.windows(2) {
            let due = pair[0].end.expect("it is done") + think;
            assert_eq!(pair[1].due, Some(due));
            assert!(pair[1].lag().expect("it was sent") <= ms(2));
            assert!(within_a_tick(pair[1].ttft().expect("it streamed"), ms(100)));
            assert!(pair[1].input_chars > pair[0].input_chars);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn turns_of_a_closed_loop_follow_after_the_time_to_think() {
    let server = InMemory::new(100, 10, 2);
    let bed = Bed::talking(server, PATIENT, talk(700, History::Server));
    let mut part = bed.part(Pacing::Closed(vec![at(0), at(50)]), &[None; 4]);
    // A drain must not begin while conversations have turns to send.
    part.drain = Some(ms(300));
    let records = bed.run(part).await;
    assert_eq!(records.len(), 12);
    assert_turns_follow(&records, ms(700));
    assert!(records[0].due.is_none());
}

#[tokio::test(start_paused = true)]
async fn turns_of_an_open_loop_are_due_by_the_answer_before_and_wait_at_the_cap() {
    let bed = Bed::talking(InMemory::new(100, 10, 2), PATIENT, talk(200, History::Data));
    let due = [Some(at(0)), Some(at(30))];
    let records = bed.run(bed.part(Pacing::Open { cap: None }, &due)).await;
    assert_eq!(records.len(), 6);
    assert_turns_follow(&records, ms(200));
    assert_eq!((records[0].due, records[3].due), (due[0], due[1]));

    let bed = Bed::talking(InMemory::new(100, 10, 2), PATIENT, talk(0, History::Data));
    let cap = Some(Arc::new(Semaphore::new(1)));
    let records = bed.run(bed.part(Pacing::Open { cap }, &due)).await;
    assert_eq!(records.len(), 6);
    let waited = records.iter().map(|record| record.cap_wait.unwrap()).max();
    assert!(
        waited.unwrap() >= ms(90),
        "two conversations share one place"
    );
}

#[tokio::test(start_paused = true)]
async fn the_history_holds_the_servers_answers_or_those_of_the_data() {
    for (history, answer) in [(History::Server, "aa"), (History::Data, "known answer 1")] {
        HEARD.take();
        let bed = Bed::talking(InMemory::new(100, 10, 2), PATIENT, talk(0, history));
        bed.run(bed.part(Pacing::Closed(vec![at(0)]), &[None]))
            .await;
        let heard = HEARD.take();
        assert_eq!(heard.len(), 3);
        let body = &heard[2][heard[2].find("\r\n\r\n").unwrap() + 4..];
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let roles: Vec<_> = messages
            .iter()
            .map(|m| m["role"].as_str().unwrap())
            .collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
        assert_eq!(messages[2]["content"], "question 0.1");
        assert_eq!(messages[3]["content"], answer);
        assert_eq!(messages[4]["content"], "question 0.2");
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_stopped_sends_no_further_turn() {
    let bed = Bed::talking(
        InMemory::new(100, 10, 2),
        PATIENT,
        talk(5_000, History::Data),
    );
    let part = bed.part(Pacing::Closed(vec![at(0)]), &[None; 2]);
    bed.close_at(at(1_000));
    let records = bed.run(part).await;
    assert_eq!(records.len(), 1);
}

/// Requests of the warm-up, ready to be sent.
fn warmup(bed: &Bed, due: &[Option<Offset>]) -> Requests {
    let mut requests = Vec::new();
    for (index, due) in (0u64..).zip(due) {
        let place = RequestPlace {
            session: index,
            turn: 0,
            turns: 1,
            index,
            stage: Stage::Warmup,
        };
        requests.push(bed.setup.prepare(place, *due, &[]));
    }
    Requests::ready(requests)
}

fn stages(records: &[Record]) -> Vec<(Stage, u64)> {
    let mut sent: Vec<&Record> = records.iter().collect();
    sent.sort_by_key(|record| record.sent);
    sent.iter()
        .map(|record| (record.stage, record.sent.unwrap().0 / 1_000_000))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_from_the_warm_up_into_the_window_without_a_pause() {
    let bed = Bed::new(InMemory::new(100, 0, 1), PATIENT);
    bed.window.send_replace(Window::Shut);
    let part = LoadShare {
        warmup: Some(warmup(&bed, &[None; 50])),
        ..bed.part(Pacing::Closed(vec![at(0)]), &[None; 2])
    };
    let opens = async {
        tokio::time::sleep(ms(250)).await;
        bed.window.send_replace(open_from(at(250)));
    };
    let (records, ()) = tokio::join!(bed.run(part), opens);
    let stages = stages(&records);
    assert_eq!(stages.len(), 5, "{stages:?}");
    let (before, inside): (Vec<_>, Vec<_>) = stages.into_iter().partition(|(_, at)| *at < 250);
    assert!(before.iter().all(|(stage, _)| *stage == Stage::Warmup));
    assert!(inside.iter().all(|(stage, _)| *stage == Stage::Measured));
    assert!(inside[0].1 < 320, "{inside:?}");
}

#[tokio::test(start_paused = true)]
async fn arrivals_of_the_warm_up_give_way_to_measured_ones_at_the_opening() {
    let bed = Bed::new(InMemory::new(10, 0, 1), PATIENT);
    bed.window.send_replace(Window::Shut);
    let every = |step: u64, count: u64| (0..count).map(|i| Some(at(i * step))).collect::<Vec<_>>();
    let part = LoadShare {
        warmup: Some(warmup(&bed, &every(100, 50))),
        ..bed.part(Pacing::Open { cap: None }, &every(100, 3))
    };
    let opens = async {
        tokio::time::sleep(ms(250)).await;
        bed.window.send_replace(open_from(at(260)));
    };
    let (records, ()) = tokio::join!(bed.run(part), opens);
    let due = |stage: Stage| {
        let due = records.iter().filter(|record| record.stage == stage);
        due.map(|record| record.due.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(due(Stage::Warmup), [at(0), at(100), at(200)]);
    assert_eq!(due(Stage::Measured), [at(260), at(360), at(460)]);
}

#[tokio::test(start_paused = true)]
async fn when_the_time_is_over_the_load_is_held_until_it_is_told_to_end() {
    let bed = Bed::new(InMemory::new(100, 0, 1), PATIENT);
    let mut part = bed.part(Pacing::Closed(vec![at(0)]), &[None; 50]);
    part.hold = Hold::Auto;
    bed.close_at(at(350));
    let ends = async {
        tokio::time::sleep(ms(650)).await;
        bed.window.send_replace(Window::Over);
    };
    let (records, ()) = tokio::join!(bed.run(part), ends);
    let count = |stage: Stage| records.iter().filter(|r| r.stage == stage).count();
    assert_eq!((count(Stage::Measured), count(Stage::Hold)), (4, 3));
    let cut = records.iter().filter(|r| r.outcome == Outcome::Cut);
    assert!(cut.clone().all(|record| record.stage == Stage::Hold) && cut.count() == 1);
}

#[tokio::test(start_paused = true)]
async fn a_window_that_is_closed_while_it_is_open_holds_the_load_from_then_on() {
    let bed = Bed::new(InMemory::new(100, 0, 1), PATIENT);
    let mut part = bed.part(Pacing::Closed(vec![at(0)]), &[None; 50]);
    part.hold = Hold::Auto;
    let ends = async {
        tokio::time::sleep(ms(250)).await;
        bed.close_at(at(250));
        tokio::time::sleep(ms(200)).await;
        bed.window.send_replace(Window::Over);
    };
    let (records, ()) = tokio::join!(bed.run(part), ends);
    let count = |stage: Stage| records.iter().filter(|r| r.stage == stage).count();
    assert_eq!((count(Stage::Measured), count(Stage::Hold)), (3, 2));
}

#[test]
fn first_answers_of_the_warm_up_are_asked_shorter_for_each_stream_but_the_last() {
    let setup = Setup {
        jobs: Arc::new(|_: u64| Job {
            output_tokens: Some(100),
            ..Job::default()
        }),
        first_wave: Some(FirstWave::of_own_sessions(4)),
        ..setup(InMemory::new(100, 0, 1), PATIENT, None)
    };
    let asked = |stage: Stage, index: u64| {
        let place = RequestPlace {
            session: index,
            turn: 0,
            turns: 1,
            index,
            stage,
        };
        let record = setup.prepare(place, None, &[]).record;
        record.output_tokens_asked.unwrap()
    };
    let warmup: Vec<u32> = (0..6).map(|index| asked(Stage::Warmup, index)).collect();
    assert_eq!(warmup, [13, 38, 63, 88, 100, 100]);
    assert_eq!(asked(Stage::Measured, 0), 100);
}
